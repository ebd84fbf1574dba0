/** `token.reject`: an MCP server rejected a token. Who may report it, its effects, and its limits. */
import { describe, expect, it } from 'vitest';
import { oddServer } from './odd-server.ts';
import { worldAndSite } from './places.ts';
import { brokerRig, inWorld, type Rig } from './rig.ts';

const places = worldAndSite();

async function allowed(): Promise<Rig> {
  const rig = await brokerRig(inWorld(places.world));
  await rig.allow();
  return rig;
}

const reject = ({ broker }: Rig, token: { tokenId: string } | { accessToken: string }, appId = 'editor') =>
  broker.rejections.reject({ appId, token }).isReplaced;

describe('a rejected token', () => {
  it('makes many requests at once ask its MCP server no more than one does', async () => {
    const rig = await allowed();
    const asked = async (requests: number): Promise<number> => {
      const { tokenId } = await rig.ask();
      expect(reject(rig, { tokenId })).toBe(true);
      const { requests: before } = places.world.counts().protectedServer;
      const tokens = await Promise.all(Array.from({ length: requests }, async () => rig.ask()));
      expect(new Set(tokens.map((token) => token.tokenId)).size).toBe(1);
      return places.world.counts().protectedServer.requests - before;
    };
    expect(await asked(50)).toBe(await asked(1));
  });

  it('of a server that gives no refresh token does not come back from the vault', async () => {
    const server = oddServer(places.site, { scopesSupported: ['read'] });
    server.answer = (_form, usual) => ({ ...usual, refresh_token: undefined });
    const rig = await brokerRig(server);
    await rig.allow();
    const { tokenId } = await rig.ask();
    expect(reject(rig, { tokenId })).toBe(true);
    expect((await rig.ask()).accessToken).toBe('access-2');
    expect(rig.pages).toHaveLength(2);
  });
});

/** Acts as a program that reports its last token as refused. */
const refusedOnce = { challenge: { status: 401 } } as const;

/** Three tokens that should have been good are refused, each reported. */
async function threeRefused(rig: Rig, operation?: string): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    const { tokenId } = await rig.ask();
    const outcome = rig.broker.rejections.reject({ appId: 'editor', token: { tokenId }, operation });
    expect(outcome).toEqual({ isReplaced: true });
  }
}

it('a program whose every token is rejected locks out no other program', async () => {
  const rig = await allowed();
  await rig.allow('agent');
  await threeRefused(rig);
  const { tokenId } = await rig.ask({ appId: 'agent' });
  expect(reject(rig, { tokenId }, 'agent')).toBe(true);
  expect((await rig.ask({ appId: 'agent', ...refusedOnce })).accessToken).toBeTypeOf('string');
});

describe('one path that rejects every token', () => {
  it('pauses its own operation and no other one', async () => {
    const rig = await allowed();
    await threeRefused(rig, 'GET /closed');
    const { tokenId } = await rig.ask();
    const token = { tokenId };
    const { broker } = rig;
    const closed = broker.rejections.reject({ appId: 'editor', token, operation: 'GET /closed' });
    expect(closed).toMatchObject({ isReplaced: false });
    const open = broker.rejections.reject({ appId: 'editor', token, operation: 'GET /open' });
    expect(open).toEqual({ isReplaced: true });
  });

  it('are not counted with tokens that worked elsewhere, up to ten in ten minutes', async () => {
    const rig = await allowed();
    const outcomes: boolean[] = [];
    for (let n = 0; n < 12; n += 1) {
      const { tokenId } = await rig.ask();
      const rejection = { appId: 'editor', token: { tokenId }, hasWorked: true };
      outcomes.push(rig.broker.rejections.reject(rejection).isReplaced);
    }
    expect(outcomes).toEqual([...Array.from({ length: 10 }, () => true), false, false]);
  });
});
