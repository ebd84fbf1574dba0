/** Another program asks in a way that no list can hold, which would hide all other questions from the user. */
import { spawn } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import type { Connection } from '../../src/client/connection.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';
import { maxLength } from '../../src/ipc/wire/limits.ts';
import { builtBin } from '../support/built.ts';
import { newHome, until } from '../support/home.ts';
import { type Desk, openDesk, pairAt } from '../support/homes/desk-home.ts';
import { writeSettings } from '../support/homes/settings-file.ts';
import { asks } from '../support/processes/program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ofTest } from '../support/lasting.ts';

const resource = 'https://notes.example/mcp';
const other = 'https://other.example/mcp';

/** Scopes of this prefix, almost as many characters as the wire takes. */
const scopes = (prefix: string): string =>
  Array.from({ length: 100 }, (_, n) => `${prefix}${n}`.padEnd(39, 'x')).join(' ');

/** A desk with a question that waits, and a paired program. */
async function deskWithEditor(): Promise<{ desk: Desk; editor: Connection }> {
  const desk = await openDesk(newHome());
  await pairAt(desk, 'editor');
  const editor = await ofTest(connect({ name: 'editor', env: desk.home.env }));
  await desk.owner.call('permission.set', { app: 'editor', resource, decision: 'allow' });
  void asks(editor, { resource: other });
  await desk.card();
  return { desk, editor };
}

it('too long for a card is refused, and hides no other question', async () => {
  const { desk, editor } = await deskWithEditor();
  const wwwAuthenticate = `Bearer error="insufficient_scope", scope="${scopes('b')}"`;
  const asking = { resource: other, interaction: 'allow', timeout: 5 };
  const tries = [
    ['token.get', { ...asking, scope: scopes('a'), challenge: { status: 403, wwwAuthenticate } }],
    // The parser writes each of these letters as six characters.
    ['token.get', { ...asking, resource: `https://other.example/${'é'.repeat(1000)}` }],
    ['url.show', { resource, url: `https://pay.example/${'é'.repeat(4000)}` }],
  ] as const;
  for (const [method, params] of tries) {
    await expect(editor.request(method, params), method).rejects.toMatchObject({
      reason: expect.stringMatching(/^invalid_(?:request|resource)$/),
    });
    expect(await desk.cards(), method).toMatchObject([{ kind: 'allow', resource: other }]);
  }
});

it('of a program below one with a long file name hides no other question', async () => {
  const { desk } = await deskWithEditor();
  const shell = path.join(temporaryFolder(), 'a'.repeat(200));
  copyFileSync('/bin/sh', shell);
  const words = [process.execPath, builtBin, 'token', 'https://third.example/mcp'].map((word) => `'${word}'`);
  const child = spawn(shell, ['-c', `${words.join(' ')}; true`], {
    env: desk.home.env,
    stdio: 'ignore',
    detached: true,
  });
  onTestFinished(() => void (child.pid !== undefined && process.kill(-child.pid)));
  const cards = await until('both questions', async () => {
    const open = await desk.cards();
    return open.length === 2 ? open : undefined;
  });
  expect(cards.map(({ app: client }) => client)).toEqual(['editor', 'cli']);
  expect(cards[1]?.appProcess?.parents?.[0]).toBe(`${'a'.repeat(63)}…`);
});

it('a long written value is shown whole on its card', async () => {
  const home = newHome({ vault: 'keychain' });
  const allow = { app: 'cli', resource, decision: 'allow' };
  const first = await openDesk(home);
  await first.owner.call('permission.set', allow);
  await first.stop();
  const noProxy = 'a'.repeat(maxLength.setting);
  writeSettings(home, { noProxy });
  const second = await openDesk(home, { leaves: true });
  await second.owner.call('permission.set', allow);
  expect((await second.card()).settings).toEqual([{ name: 'noProxy', value: noProxy }]);
  for (const method of ['status', 'settings.get'] as const)
    methods[method].result.parse(await second.owner.call(method, {}));
  await second.stop();
  writeSettings(home, { noProxy: `${noProxy}a` });
  await expect(openDesk(home)).rejects.toMatchObject({
    reason: 'file_unreadable',
    message: expect.stringContaining('noProxy'),
  });
});
