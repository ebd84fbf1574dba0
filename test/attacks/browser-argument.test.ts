/**
 * The arguments of the browser's command: every user of the machine can read them (/proc/PID/cmdline), so they
 * must hold nothing of the authorization request, and what they hold must lead nobody else on.
 */
import { describe, expect, it } from 'vitest';
import { turnOfEvents } from '../broker/rig.ts';
import { followed, ground, parameter } from '../rules/ground.ts';
import type { Ground } from '../rules/ground.ts';
import { rawGet, statusForNobody } from '../support/servers/raw-get.ts';

const isRoot = process.getuid?.() === 0;

interface Opened extends Ground {
  readonly asked: Promise<unknown>;
  /** What the browser's command got. */
  readonly address: string;
  /** The authorization URL, as the person is told it. */
  readonly page: string;
}

/** A sign-in whose browser was opened, and whose person hasn't done anything yet. */
async function opened(): Promise<Opened> {
  const all = await ground();
  all.rig.person.isThere = false;
  const asked = all.rig.ask();
  asked.catch(() => undefined);
  const { question } = await all.rig.question('login');
  await turnOfEvents();
  return {
    ...all,
    asked,
    address: all.rig.opened[0] ?? '',
    page: question.kind === 'login' ? question.url : '',
  };
}

describe('the address that the browser is started with', () => {
  it('N-11: holds nothing of the authorization request', async () => {
    const { address, page } = await opened();
    expect(new URL(address).hostname).toBe('127.0.0.1');
    for (const name of ['state', 'code_challenge', 'client_id', 'redirect_uri']) {
      const value = parameter(page, name) ?? '-';
      expect(address).not.toContain(name);
      expect(decodeURIComponent(address)).not.toContain(value);
    }
  });

  it.runIf(isRoot)('leads no other user of the machine on, and the person after them', async () => {
    const { world, authorizationServer, address, asked } = await opened();
    expect(await statusForNobody(address)).toBe('');
    expect((await followed(world, address)).status).toBe(200);
    expect(await asked).toMatchObject({ issuer: authorizationServer.issuer });
  });

  it('N-11: survives a reload and a prefetch, and ends with the sign-in', async () => {
    const { world, address, page, asked, rig } = await opened();
    const ahead = await rawGet(address, { headers: { 'sec-purpose': 'prefetch;prerender' } });
    expect([ahead.status, ahead.headers.location]).toEqual([303, page]);
    expect((await rawGet(address)).status).toBe(303);
    // A second sign-in keeps the port open: what is gone is this address, not the listener.
    const other = rig.login({ account: 'bob' });
    other.catch(() => undefined);
    while (rig.opened.length < 2) await turnOfEvents();
    expect((await followed(world, address)).status).toBe(200);
    await asked;
    expect((await rawGet(address)).status).toBe(400);
    for (const { id } of rig.parts.interactions.list()) rig.parts.interactions.answer(id, 'no');
  });
});
