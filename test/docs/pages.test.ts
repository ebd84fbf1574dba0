/** The pages are true where a program can tell: links, shell lines, names, versions. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { statements } from '../../src/cli/main.ts';
import { fullHelpOf } from '../../src/cli/terminal/help.ts';
import { anchors, codeBlocks, page, pages, prose, root, section, tableRows } from './pages.ts';

interface Manifest {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const manifestIn = (file: string): Manifest =>
  JSON.parse(readFileSync(path.join(root, file), 'utf8')) as Manifest;
const manifest = manifestIn('package.json');

const all = pages().map((found): [string, typeof found] => [found.name, found]);

/** A command of a shell line, cut at what ends a command. */
function commandsOf(code: string): string[][] {
  return code
    .split(/\n|&&|[|;<>]|\$\(|\)/)
    .map((command) => command.trim().split(/\s+/))
    .map((words) => (words[0] === 'npx' ? words.slice(1) : words))
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))));
}

const shellCommands = (name: string): string[][] => codeBlocks(page(name), 'sh').flatMap(commandsOf);

/** A token in an argument of a command: every program can list the arguments of processes. */
const tokenInArguments = /(?:-H|--header) "[^"]*\$\(/;

/** A pipe or an argument from a command that prints a token: what reads it runs also where there is no token. */
const goesOnWithoutToken = /keyturn(?:\.py)? (?:token|headers)\b[^\n)>`]*\||"\$\(keyturn (?:token|headers)\b/;

const commands = await statements();

it('no help text puts a token into an argument', () => {
  expect(commands.map(fullHelpOf).join('\n')).not.toMatch(tokenInArguments);
});

it('no help text goes on without a token', () => {
  expect(commands.map(fullHelpOf).join('\n')).not.toMatch(goesOnWithoutToken);
});

describe.each(all)('%s', (_name, here) => {
  it('puts no token into an argument', () => {
    expect(here.text).not.toMatch(tokenInArguments);
  });

  it('goes on only with a token', () => {
    expect(here.text).not.toMatch(goesOnWithoutToken);
  });

  it('links only to what is there', () => {
    const targets = [...prose(here).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    const broken = targets
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#');
        const name = file === '' ? here.name : path.posix.join(path.posix.dirname(here.name), file);
        if (!existsSync(path.join(root, name))) return true;
        return anchor !== undefined && !anchors(page(name)).includes(anchor);
      });
    expect(broken).toEqual([]);
  });

  it('runs only npm scripts that exist', () => {
    const missing = shellCommands(here.name)
      // `install` and `pack` are npm's own.
      .filter(([program, verb]) => program === 'npm' && verb !== 'install' && verb !== 'pack')
      .map(([, verb, name]) => (verb === 'run' ? name : verb))
      .filter((name) => !Object.hasOwn(manifest.scripts, name ?? ''));
    expect(missing).toEqual([]);
  });

  it('trusts a proxy for each server in an example that listens', () => {
    const programs = codeBlocks(here, 'ts').filter((code) => /\.listen\(/.test(code));
    const count = (code: string, words: RegExp): number => code.match(words)?.length ?? 0;
    const servers = /\b(?:protected|authorization|thirdParty)Server\(/g;
    expect(programs.filter((code) => count(code, servers) > count(code, /trustedProxies/g))).toEqual([]);
  });

  it('names source files, test files and scripts that exist', () => {
    const named = [
      ...here.text.matchAll(
        /`((?:src|electron|renderer|demo|assets|test|scripts|docs|\.ci)\/[\w./-]*\w\/?)`/g,
      ),
    ].map(([, file = '']) => file);
    expect(named.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  });

  it('names neither a package registry nor a path of the machine it was written on', () => {
    expect(here.text).not.toMatch(/\bregistry\.[a-z]|\bnpmjs\.|artifactory|verdaccio/i);
    expect(here.text).not.toMatch(/(?<![\w.~])\/(?:home|Users|root|work|tmp|mnt)\/\w/);
    expect(here.text).not.toContain(root);
  });
});

it('ARCHITECTURE.md has a row for every folder of src/', () => {
  const rows = tableRows(section(page('ARCHITECTURE.md'), 'Layers')).map(([name = '']) => name);
  const there = readdirSync(path.join(root, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `\`${name}/\``);
  expect(rows.slice(2).toSorted()).toEqual(there.toSorted());
});

describe.each(['ARCHITECTURE.md', 'dev/internals.md'])('%s', (name) => {
  it('names files of the layers that exist', () => {
    const named = [
      ...page(name).text.matchAll(
        /`((?:base|oauth|vault|store|audit|broker|ipc|client|bridge|proxy|daemon|cli)\/[\w/-]+\.ts)`/g,
      ),
    ].map(([, file = '']) => file);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((file) => !existsSync(path.join(root, 'src', file)))).toEqual([]);
  });
});

it('dev/dependencies.md has every dependency in its tables, and no other', () => {
  const documented = tableRows(page('dev/dependencies.md').text).flatMap(([cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
  const { dependencies, devDependencies, optionalDependencies } = manifest;
  const ofBroker = manifestIn('src/package.json').dependencies;
  const wanted = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies, ...ofBroker });
  expect(documented.toSorted()).toEqual(wanted.toSorted());
});

const text = page('docs/reference/settings.md').text;

it('docs/reference/settings.md names every KEYTURN_ variable that the code reads', () => {
  const source = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(path.join(root, 'src', file), 'utf8'))
    .join('\n');
  const read = new Set([...source.matchAll(/\bKEYTURN_[A-Z_]*[A-Z]\b/g)].map(([name]) => name));
  expect(read.size).toBeGreaterThan(3);
  expect([...read].filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
