/**
 * The layers (ARCHITECTURE.md, Layers): who may import whom, and why. A rule that no file could break would
 * prove nothing, so the checker itself is tried on trees that break each one.
 */
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { base, type Layer, layers } from './support/source/layers.ts';
import { roomFaults, rooms } from './support/source/rooms.ts';
import {
  importCycles,
  parseTree,
  readTree,
  staticClosure,
  type Tree,
  unknownTarget,
} from './support/source/imports.ts';

const root = path.join(import.meta.dirname, '..');
const tree = readTree(path.join(root, 'src'));

/** The files of some folders of the project, with paths from its root. */
const below = (...folders: readonly string[]): Tree =>
  parseTree(
    Object.fromEntries(
      folders.flatMap((folder) =>
        [...readTree(path.join(root, folder), ['.ts', '.tsx'])].map(([file, { text }]) => [
          `${folder}/${file}`,
          text,
        ]),
      ),
    ),
  );

/** What stands beside src/: the desktop app in its two folders and its words, and the demo. */
const besides = below('words', 'electron', 'renderer', 'demo');

interface Confined {
  readonly names: (target: string) => boolean;
  readonly only: (file: string) => boolean;
  readonly why: string;
}

const koffiFiles = ['ipc/peer/peer.ts', 'daemon/home/single-instance.ts', 'base/shield.ts'];

/** What is imported in few places, or in none. */
const confined: Readonly<Record<string, Confined>> = {
  keytar: {
    names: (target) => target === 'keytar',
    only: (file) => file === 'vault/keychain/keytar.ts',
    why: 'it can crash and hang, so it is loaded only in a process of its own',
  },
  conf: {
    names: (target) => target === 'conf',
    only: (file) => file.startsWith('daemon/'),
    why: 'settings are read by the composition root and passed on',
  },
  koffi: {
    names: (target) => target === 'koffi',
    only: (file) => koffiFiles.includes(file) || file.startsWith('base/windows/'),
    why: 'native calls: for the peer, the lock, the shield of a process, and what Windows has of its own',
  },
  'the world outside': {
    names: (target) => /^node:(fs|net|tls|dns|http2?|https|child_process|worker_threads)(\/|$)/.test(target),
    only: (file) => !file.startsWith('oauth/'),
    why: 'oauth is pure: a test can give it any server and any clock',
  },
};

/** Everything the tree breaks of the rules above, as sentences. */
function violations(files: Tree): string[] {
  return [...files].flatMap(([file, { imports }]) => {
    const layer = layers[layerOf(file)];
    if (!layer) return [`${file} belongs to no layer: give its folder a row`];
    return imports.flatMap(({ target, kind }) => [
      ...(isAllowed(file, target, layer) ? [] : [`${file} imports ${target} (${kind}): ${layer.why}`]),
      ...Object.values(confined)
        .filter((rule) => rule.names(target) && !rule.only(file))
        .map((rule) => `${file} imports ${target} (${kind}): ${rule.why}`),
    ]);
  });
}

function layerOf(file: string): string {
  const fitting = Object.keys(layers).filter((name) =>
    name.endsWith('/') ? file.startsWith(name) : file === name,
  );
  return fitting.toSorted((a, b) => b.length - a.length)[0] ?? '';
}

function isAllowed(file: string, target: string, { mayImport, packages }: Layer): boolean {
  if (target === unknownTarget) return file === 'vault/keychain/keytar.ts';
  if (isBuiltin(target)) return true;
  if (!target.endsWith('.ts')) return packages === undefined || packages.includes(packageOf(target));
  const own = layerOf(file);
  return (own.endsWith('/') && target.startsWith(own)) || mayImport.some((start) => target.startsWith(start));
}

function packageOf(target: string): string {
  return target.split('/', target.startsWith('@') ? 2 : 1).join('/');
}

/** The packages that loading a file loads. */
function packagesBehind(files: Tree, file: string): string[] {
  return [...staticClosure(files, file)].filter((target) => !files.has(target) && !isBuiltin(target));
}

describe('the layers', () => {
  it('are kept by every import of every file', () => {
    expect(tree.size).toBeGreaterThan(80);
    expect(violations(tree)).toEqual([]);
  });

  it('have no cycle, not even of types or of what is loaded later', () => {
    expect(importCycles(tree)).toEqual([]);
  });

  it('let only one file of the keychain worker choose a module at run time, and only it writes the name keytar', () => {
    const choosing = [...tree].filter(([, { imports }]) =>
      imports.some(({ target }) => target === unknownTarget),
    );
    const naming = [...tree].filter(([, { strings }]) => strings.has('keytar'));
    expect(choosing.map(([file]) => file)).toEqual(['vault/keychain/keytar.ts']);
    expect(naming.map(([file]) => file)).toEqual(['vault/keychain/keytar.ts']);
  });

  it('keep every package out of `keyturn token` and of the client library', () => {
    // Cold start is what scripts wait for, and a program that imports us must not inherit our dependencies.
    expect(packagesBehind(tree, 'cli/bin.ts')).toEqual([]);
    expect(packagesBehind(tree, 'cli/main.ts')).toEqual([]);
    expect(packagesBehind(tree, 'cli/commands/token.ts')).toEqual([]);
    expect(packagesBehind(tree, 'client/index.ts')).toEqual([]);
  });

  it('keep the broker, its schemas and the daemon out of the client library', () => {
    const loaded = [...staticClosure(tree, 'client/index.ts')].filter((file) => tree.has(file));
    expect(
      loaded.filter(
        (file) => !/^(client|ipc\/wire)\//.test(file) && !base.some((each) => file.startsWith(each)),
      ),
    ).toEqual([]);
    expect(loaded).toContain('ipc/wire/json-rpc.ts');
    expect(loaded).not.toContain('ipc/protocol/methods.ts');
  });

  it('keep what only the network needs out of a broker that has asked no server yet: it takes 35 MB', () => {
    const loaded = staticClosure(tree, 'daemon/daemon.ts');
    expect(loaded).toContain('daemon/system/fetch.ts');
    // As modules, Node's http and https bring Node's own fetch along.
    for (const heavy of ['undici', 'node:http', 'node:https', 'node:tls', 'base/system/https-agent.ts'])
      expect(loaded).not.toContain(heavy);
  });
});

describe('the protected server', () => {
  const loaded = staticClosure(tree, 'server/index.ts');

  it('loads nothing of Node and no package but three that run anywhere', () => {
    const outside = [...loaded].filter((target) => !tree.has(target));
    expect(outside.toSorted()).toEqual(['ipaddr.js', 'jose', 'zod']);
  });

  it('uses no global object of Node', () => {
    const files = [...loaded].filter((target) => tree.has(target));
    const using = files.filter((file) =>
      ['Buffer', 'process', 'global', 'setImmediate', 'require', '__dirname'].some((name) =>
        tree.get(file)?.identifiers.has(name),
      ),
    );
    expect(using).toEqual([]);
    expect(files).toContain('server/resource/protected-server.ts');
  });

  it('has of the client role only readers and rules, and nothing that asks for tokens', () => {
    const files = [...loaded].filter((target) => tree.has(target));
    expect(
      files.filter(
        (file) =>
          !/^(server|oauth\/(base|discovery))\/|^base\/(text\/.*|errors\.ts|system\/connection-faults\.ts)$/.test(
            file,
          ),
      ),
    ).toEqual([]);
  });
});

/** What each part beside src/ may import. By the longest beginning that fits. */
const besideLayers: Readonly<Record<string, Layer & { readonly typesOnly?: readonly string[] }>> = {
  'electron/': {
    mayImport: [
      'words/',
      'electron/',
      ...[
        ...base,
        'base/mutex.ts',
        'base/repeated-work.ts',
        'base/shield.ts',
        'base/system/child.ts',
        'oauth/',
        'vault/',
        'ipc/',
        'client/',
        'daemon/',
        'proxy/worker-file.ts',
        'setup/',
        'service/',
      ].map((name) => `src/${name}`),
    ],
    packages: ['electron', 'electron-store', 'zod'],
    why: 'a host: starts the daemon and asks it as its owner; neither the command line nor the demo is in it',
  },
  'electron/preload.ts': {
    mayImport: ['electron/bridge/messages.ts'],
    typesOnly: ['electron/bridge/channels.ts'],
    packages: ['electron'],
    why: 'runs beside the page: what it loads, a hole in the page could reach',
  },
  'electron/bridge/messages.ts': { mayImport: [], packages: [], why: 'preload brings it along' },
  'renderer/': {
    mayImport: ['renderer/', 'words/'],
    typesOnly: ['electron/bridge/channels.ts'],
    packages: ['preact', 'vite'],
    why: 'the page knows what it may ask and nothing else; no schema library is bundled with it',
  },
  'words/': {
    mayImport: ['words/'],
    packages: ['intl-messageformat'],
    why: 'the page loads it: words, and the one library that reads messages',
  },
  'demo/': {
    mayImport: ['demo/', 'src/base/errors.ts', 'src/serve/trusting-fetch.ts'],
    // jose: the thief makes proofs of its own.
    packages: ['keyturn', '@modelcontextprotocol/sdk', 'jose', 'undici', 'zod'],
    why: 'runs the program as it is delivered: its command, and its client library by name',
  },
};

function besideViolations(files: Tree): string[] {
  return [...files].flatMap(([file, { imports }]) => {
    const [, layer] =
      Object.entries(besideLayers)
        .filter(([name]) => file.startsWith(name))
        .toSorted(([a], [b]) => b.length - a.length)[0] ?? [];
    if (!layer) return [`${file} belongs to no layer`];
    const { mayImport, typesOnly = [], packages = [], why } = layer;
    const isFine = ({ target, kind }: (typeof imports)[number]): boolean => {
      if (isBuiltin(target)) return !file.startsWith('renderer/') || file === 'renderer/vite.config.ts';
      if (/\.(tsx?|css)$/.test(target)) {
        const all = [...mayImport, ...(kind === 'type' ? typesOnly : [])];
        return all.some((start) => target.startsWith(start));
      }
      return packages.includes(packageOf(target));
    };
    return imports.filter((found) => !isFine(found)).map(({ target }) => `${file} imports ${target}: ${why}`);
  });
}

describe('the desktop app and the demo', () => {
  it('keep their layers', () => {
    expect(besides.size).toBeGreaterThan(20);
    expect(besideViolations(besides)).toEqual([]);
    expect(importCycles(besides)).toEqual([]);
  });

  it('are imported by nobody in src/', () => {
    const importing = [...tree].filter(([, { imports }]) =>
      imports.some(
        ({ target }) => target === 'electron' || /^(\.\.\/)+(electron|renderer|demo)\//.test(target),
      ),
    );
    expect(importing.map(([file]) => file)).toEqual([]);
  });
});

describe('the rooms', () => {
  const house = below(...new Set(Object.keys(rooms).map((room) => room.split('/', 1).join())));

  it('are kept: each import leads down, no circle is left, and each file has a room that is not too full', () => {
    expect(roomFaults(house)).toEqual([]);
  });

  it('are shown by docs/rooms.md, in the same order', () => {
    const page = readFileSync(path.join(root, 'docs', 'rooms.md'), 'utf8');
    const shown = [...page.matchAll(/^\| `([\w/-]+)\/` \| .*\. \|$/gm)];
    expect(shown.map(([, name]) => name)).toEqual(Object.keys(rooms));
  });
});

describe('every source file', () => {
  it('opens with a header that says what it is for', () => {
    const bare = [...tree].filter(([, { text }]) => !/^(#!.*\n)?\/\*\*\s/.test(text));
    expect(bare.map(([file]) => file)).toEqual([]);
  });

  it('leaves the terminal to the command line', () => {
    const talking = [...tree].filter(([, { identifiers }]) => identifiers.has('console'));
    expect(talking.map(([file]) => file)).toEqual([]);
  });

  it('leaves nothing to be done later', () => {
    const unfinished = [...tree].filter(([, { text }]) => /\b(TODO|FIXME|XXX|HACK)\b/.test(text));
    expect(unfinished.map(([file]) => file)).toEqual([]);
  });
});
