/** The program as one executable file, built as `npm run package:single` builds it. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  writeFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { damageExecutable } from '../../support/damaged-executable.ts';
import { type HomeOptions, homeInWorld, newHome, until } from '../../support/home.ts';
import { paired } from '../../support/processes/program.ts';
import { keepSecret } from '../../support/secrets.ts';
import { verdictOn } from '../../support/servers/notebook.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..', '..', '..');
const canBuild = existsSync(path.join(root, 'node_modules', `node-linux-${process.arch}`));
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };

const isRoot = process.getuid?.() === 0;

let folder: string;
let executable: string;

/** What a home of a test starts: the executable in place of Node and the built command. */
const started = (file: string): HomeOptions => {
  const temporary = path.join(folder, 'temporary');
  mkdirSync(temporary, { recursive: true });
  return {
    launcher: ['sh', '-c', `shift 2; exec ${file} "$@"`, 'sh'],
    // Of no use to it: it takes no option of Node's.
    env: { TMPDIR: temporary, XDG_RUNTIME_DIR: undefined, NODE_OPTIONS: '--require=/nowhere' },
  };
};

/** A copy in which one byte of a native package is another one. */
function damaged(native: string): string {
  const copy = path.join(folder, `damaged-${path.basename(native)}`);
  damageExecutable(executable, copy, readFileSync(path.join(root, 'node_modules', native)));
  return copy;
}

describe.skipIf(!canBuild)('the executable of one file', () => {
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'kt-single-'));
    const script = path.join(root, 'scripts', 'package-single.ts');
    executable = (
      await run(process.execPath, [script, '--system', 'linux', '--output', folder])
    ).stdout.trim();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('the executable of one file signs in with the keychain, and leaves no file of its native code', async () => {
    const { home, world, resource } = await homeInWorld({ vault: 'keychain', ...started(executable) });
    // Without a warning: what V8 compiled beforehand is taken.
    expect(await home.keyturn(['--version'])).toMatchObject({
      code: 0,
      stdout: `keyturn ${version}\n`,
      stderr: '',
    });
    await home.ok(['app', 'allow', 'cli', resource]);
    const token = (await home.ok(['token', resource])).trim();
    expect((await verdictOn(world, token)).status).toBe(200);
    const findings = JSON.parse((await home.keyturn(['doctor', '--json'])).stdout) as { kind: string }[];
    expect(findings.map(({ kind }) => kind)).not.toContain('keychain.module');
    // A process of its own listens there: the third one that is the same file.
    const proxy = (await home.ok(['proxy', 'add', resource])).trim();
    expect((await fetch(new URL('/elsewhere', proxy))).status).toBe(404);
    // A process that starts has one for a moment.
    await until('no file is left', () => readdirSync(path.join(folder, 'temporary')).length === 0);
  });

  it('keyturn setup writes the executable’s own path into a client, which then starts the bridge with it, and setup undo puts every byte back', async () => {
    const { home, resource } = await homeInWorld({ vault: 'keychain', ...started(executable) });
    const cursor = path.join(home.env['HOME'] ?? '', '.cursor');
    mkdirSync(cursor);
    onTestFinished(() => rmSync(cursor, { recursive: true }));
    const file = path.join(cursor, 'mcp.json');
    const before = `{ // mine\r\n  "mcpServers": { "notes": { "url": "${resource}" } }\r\n}\r\n`;
    writeFileSync(file, before);
    await home.ok(['setup', '--no-connect', '--yes']);
    const [, entry = ''] = /"notes": (\{.*\})\s*\}\s*\}/s.exec(readFileSync(file, 'utf8')) ?? [];
    const { command, args, env } = JSON.parse(entry) as {
      command: string;
      args: string[];
      env: Record<string, string>;
    };
    expect(command).toBe(executable);
    expect(args).toEqual(['bridge', resource, '--as', 'cursor-notes']);

    await paired(home, 'cursor-notes');
    await home.ok(['app', 'allow', 'cursor-notes', resource]);
    const { HOME = '', PATH = '' } = home.env;
    const client = new Client({ name: 'an-editor', version: '1.0.0' });
    onTestFinished(() => client.close());
    await client.connect(new StdioClientTransport({ command, args, env: { HOME, PATH, ...env } }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('list-notes');

    await home.ok(['setup', 'undo', '--yes']);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('the executable of one file loads no native code that is not the one it was built with', async () => {
    const home = newHome(
      started(damaged(`@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`)),
    );
    const refused = await home.keyturn(['broker', 'run']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('koffi.node');
    expect(refused.stderr).toContain('checksum');
  });

  it.runIf(isRoot)(
    'the executable of one file runs as the container image describes it: its user, its environment and nothing but its libraries',
    async () => {
      const image = readFileSync(path.join(root, 'assets', 'container', 'Dockerfile'), 'utf8');
      const env = (/^ENV (.*)$/m.exec(image)?.[1] ?? '').split(' ');
      const user = /^USER (\d+):/m.exec(image)?.[1] ?? '';
      const inside = path.join(folder, 'image');
      const at = (file: string): string => path.join(inside, file);
      for (const name of ['proc', 'dev', 'tmp', 'run/secrets', 'usr/local/bin'])
        mkdirSync(at(name), { recursive: true });
      chmodSync(at('tmp'), 0o1777);
      linkSync(executable, at('usr/local/bin/keyturn'));
      // What the image's base has, and libstdc++6: the native package asks for no more than Node.
      const libraries = (await run('ldd', [executable])).stdout.matchAll(/(\/\S+) \(0x/g);
      for (const [, library = ''] of libraries) {
        mkdirSync(path.dirname(at(library)), { recursive: true });
        copyFileSync(library, at(library));
      }
      const secret = 'container horse battery';
      keepSecret('passphrase', secret);
      writeFileSync(at('run/secrets/keyturn'), `${secret}\n`, { mode: 0o400 });
      mkdirSync(at('var/lib/keyturn'), { recursive: true });
      chmodSync(at('var/lib/keyturn'), 0o700);
      for (const name of ['run/secrets/keyturn', 'var/lib/keyturn'])
        chownSync(at(name), Number(user), Number(user));
      const script = `mount --bind /proc ${at('proc')} && mount --bind /dev ${at('dev')} && exec chroot --userspec=${user}:${user} ${inside} "$@"`;
      const within = (...words: string[]) =>
        run('unshare', ['-m', 'sh', '-c', script, 'sh', ...words], {
          env: Object.fromEntries(env.map((one) => one.split('=', 2))),
        });
      const [command = [], [keyturn = ''] = []] = ['CMD', 'ENTRYPOINT'].map(
        (word) => JSON.parse(new RegExp(`^${word} (.*)$`, 'm').exec(image)?.[1] ?? '') as string[],
      );
      const broker = within(keyturn, ...command);
      onTestFinished(() => void broker.child.kill());
      await until('the broker', () =>
        // A broker that doesn't start ends the wait with what it said.
        Promise.race([broker, within(keyturn, 'status').catch(() => undefined)]),
      );
      expect(broker.child.exitCode).toBeNull();
      await within(keyturn, 'app', 'allow', 'cli', 'https://server.example/mcp');
      const status = JSON.parse((await within(keyturn, 'status', '--json')).stdout) as {
        vault: string;
        vaultState: { state: string };
      };
      expect(status).toMatchObject({ vault: 'sealed-file', vaultState: { state: 'open' } });
      await within(keyturn, 'broker', 'stop');
      await broker;
      expect((await within(keyturn, 'app', 'list')).stdout).toContain('server.example');
      await within(keyturn, 'broker', 'stop');
    },
  );

  it('comes with its checksums, and with a bill of materials that names Node', async () => {
    const { stdout } = await run('sha256sum', ['--check', path.basename(`${executable}.sha256`)], {
      cwd: folder,
    });
    expect(stdout.split('\n').filter((line) => line.endsWith(': OK'))).toHaveLength(2);
    const bill = JSON.parse(readFileSync(`${executable}.cdx.json`, 'utf8')) as {
      components: { name: string }[];
    };
    const names = bill.components.map(({ name }) => name);
    for (const name of ['node', 'koffi', 'keytar', 'undici']) expect(names).toContain(name);
  });
});
