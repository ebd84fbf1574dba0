/** scripts/smoke-electron.mjs: its steps that need no Electron, against the built headless broker. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import path from 'node:path';
import { expect, it } from 'vitest';
import { requireTestKeyring } from '../../vault/keychain/keyring.ts';

const root = path.join(import.meta.dirname, '..', '..', '..');

async function smoke(...program: readonly string[]) {
  // No window is tested here.
  const { DISPLAY: _, ...env } = process.env;
  const script = path.join(root, 'scripts', 'smoke-electron.mjs');
  const child = spawn(process.execPath, [script, ...program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { lines, status: status as unknown };
}

it('passes the headless broker, with its keychain, its proxies and its end', async () => {
  requireTestKeyring();
  const fixture = path.join(root, 'test', 'support', 'processes', 'headless-as-app.mjs');
  const { lines, status } = await smoke(process.execPath, fixture);
  const steps = ['start', 'proxy', 'second', 'switches', 'log', 'stop', 'window'];
  expect(lines).toMatchObject(steps.map((step) => ({ step, ok: true })));
  expect(status).toBe(0);
});

it('fails at a program that ends at once, or isn’t there', async () => {
  for (const program of [['/bin/false'], ['/nowhere/keyturn-desktop']]) {
    const { lines, status } = await smoke(...program);
    expect(lines).toMatchObject([
      { step: 'start', ok: false, why: expect.stringContaining('the app ended') as string },
    ]);
    expect(status).toBe(1);
  }
});
