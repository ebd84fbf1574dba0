/** Lock and unlock with real processes: each kind of vault, over restarts and SIGKILL, at a real terminal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { homeInWorld, TestHome, until } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { tellStoryOf } from '../../support/homes/common-home.ts';
import {
  allow,
  killBroker,
  signIn,
  startBroker,
  stopBroker,
  tokenAt,
  unlock,
  vaultStateOf,
} from '../../support/homes/owner-acts.ts';

const bySealedFile = { KEYTURN_VAULT: 'sealed-file' };
const passphrase = 'correct horse battery';

it('a sealed file with its key in the keychain opens by itself, after a lock by unlock', async () => {
  const { home, world, resource } = await homeInWorld({
    vault: 'keychain',
    env: { ...bySealedFile, KEYTURN_VAULT_KEY: 'keychain' },
  });
  await startBroker(home);
  await allow(home, 'cli', resource);
  await signIn(home, resource);
  await stopBroker(home);
  await home.ok(['token', resource, '--no-input']);
  await killBroker(home);
  await startBroker(home);
  await tokenAt(home, resource);
  await askBroker(home, 'vault.lock', {});
  expect(await home.keyturn(['token', resource])).toMatchObject({ code: 7 });
  await home.ok(['unlock']);
  await tokenAt(home, resource);
  expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshReuses: 0 });
  expect(await home.keyturn(['passphrase', '--passphrase-stdin'], { stdin: 'a\nb\n' })).toMatchObject({
    code: 2,
  });
});

describe('a sealed file whose source of the passphrase changes', () => {
  /** One home for all: each test finds the vault as the one before left it. */
  let home: TestHome;
  beforeAll(() => {
    home = new TestHome({ env: bySealedFile });
  });
  tellStoryOf(() => [home]);
  afterAll(() => home.close());

  it('asks on the terminal without an echo, twice if it is new', async () => {
    const piped = await home.keyturn(['unlock']);
    expect(piped).toMatchObject({ code: 2, stdout: '' });
    expect(piped.stderr).toContain('--passphrase-stdin');

    const first = atTerminal(home, 'unlock');
    await first.shows('choose a passphrase for the vault: ');
    first.types(`${passphrase}y\u007f\r`);
    await first.shows('once more: ');
    first.types(`${passphrase}\r`);
    expect(await first.ended).toBe(0);
    expect(first.shown()).not.toContain('hors');
    expect(await vaultStateOf(home)).toBe('open');
    expect(await home.ok(['status'])).toContain('sealed-file (opened by a passphrase)');

    await askBroker(home, 'vault.lock', {});
    const second = atTerminal(home, 'unlock');
    await second.shows('passphrase of the vault: ');
    second.types(`${passphrase}\r`);
    expect(await second.ended).toBe(0);
    expect(await vaultStateOf(home)).toBe('open');

    await askBroker(home, 'vault.lock', {});
    const third = atTerminal(home, 'unlock');
    await third.shows('passphrase of the vault: ');
    third.types('\u0003');
    expect(await third.ended).toBe(130);
    expect(await vaultStateOf(home)).toBe('locked');
    await unlock(home, passphrase);
  });
});

interface Terminal {
  /** Resolves when the terminal shows `text`, after what was waited for before. */
  shows(text: string): Promise<void>;
  types(text: string): void;
  /** All that it has shown. */
  shown(): string;
  /** The command's exit code. */
  readonly ended: Promise<number>;
}

/** A command at a pseudo-terminal, which script(1) gives it. */
function atTerminal(home: TestHome, command: string): Terminal {
  const line = `'${process.execPath}' '${builtBin}' ${command}`;
  const child = spawn('script', ['-qefc', line, '/dev/null'], { env: home.env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  return {
    shows: async (text) => {
      await until(`the terminal shows "${text}"`, () => shown.includes(text, seen));
      seen = shown.indexOf(text, seen) + text.length;
    },
    types: (text) => void child.stdin.write(text),
    shown: () => shown,
    ended: once(child, 'close').then(([code]: unknown[]) => (typeof code === 'number' ? code : -1)),
  };
}
