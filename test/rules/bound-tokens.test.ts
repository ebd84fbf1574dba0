/** When tokens are bound to a DPoP key (RFC 9449), what keeps them so, and which proofs a program gets. */
import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../src/base/errors.ts';
import { revokeSignIn } from '../../src/broker/revocation/revoker.ts';
import { json } from '../support/bent/server.ts';
import { followed, ground, parameter, refused, reject, states, type Ground } from './ground.ts';

const es256 = { dpop_signing_alg_values_supported: ['ES256'] };
const rs256 = { dpop_signing_alg_values_supported: ['RS256'] };
const onlyBound = { dpop_bound_access_tokens_required: true };

/** An MCP server that takes bound tokens only, and an authorization server that issues them. */
async function boundGround() {
  const all = await ground();
  states(all.authorizationServer, es256);
  states(all.protectedServer, onlyBound);
  all.authorizationServer.bend.tokenAnswer = ({ body }) => json({ ...body, token_type: 'DPoP' });
  return all;
}

function unbind({ authorizationServer, protectedServer }: Ground): void {
  authorizationServer.bend.metadata = undefined;
  protectedServer.bend.metadata = undefined;
  authorizationServer.bend.tokenAnswer = undefined;
}

const claimsOf = (proof: string): unknown =>
  JSON.parse(Buffer.from(proof.split('.')[1] ?? '', 'base64url').toString());

describe('tokens are bound to a DPoP key', () => {
  it.each<[string, boolean, object, object, string?]>([
    ['where the metadata of both says so', true, es256, onlyBound],
    ['where a DPoP challenge stands alone', true, es256, {}, 'DPoP algs="ES256"'],
    ['unless the MCP server takes Bearer tokens too', false, es256, es256, 'Bearer, DPoP algs="ES256"'],
    ['unless the authorization server doesn’t offer it', false, {}, onlyBound],
    ['unless a server takes other algorithms only', false, rs256, onlyBound],
  ])('P-5: tokens are bound to a DPoP key %s', async (_where, isBound, offered, wanted, challenge) => {
    const { rig, authorizationServer, protectedServer } = await ground();
    states(authorizationServer, offered);
    states(protectedServer, wanted);
    if (challenge !== undefined) protectedServer.bend.challenge = () => challenge;
    if (isBound) authorizationServer.bend.tokenAnswer = ({ body }) => json({ ...body, token_type: 'DPoP' });
    const { tokenType } = await rig.ask();
    expect(tokenType).toBe(isBound ? 'DPoP' : 'Bearer');
    const sent = authorizationServer.server.asked('/token').map(({ headers }) => headers['dpop']);
    expect(sent.map((proof) => proof !== undefined)).toEqual([isBound]);
    expect(parameter(rig.pages[0], 'dpop_jkt') !== undefined).toBe(isBound);
    expect(rig.signIn().isKeyBound ?? false).toBe(isBound);
  });

  it('from the next sign-in on where a server begins to refuse others', async () => {
    const { rig, authorizationServer, protectedServer } = await ground();
    const { tokenId } = await rig.ask();
    states(authorizationServer, es256);
    protectedServer.bend.challenge = () => 'DPoP algs="ES256", error="invalid_token"';
    rig.clock.advance(600_000);
    reject(rig, { tokenId });
    authorizationServer.bend.tokenAnswer = ({ body }) => json({ ...body, token_type: 'DPoP' });
    expect(await refused(rig.ask({ interaction: 'never' }))).toMatchObject({
      reason: 'login_required',
      message: expect.stringContaining('takes only tokens that are bound to a DPoP key'),
    });
    expect((await rig.ask()).tokenType).toBe('DPoP');
    expect(rig.pages).toHaveLength(2);
  });

  it('P-9: stay bound until the user ends the sign-in', async () => {
    const all = await boundGround();
    const { rig } = all;
    await rig.ask();
    unbind(all);
    expect(await refused(rig.login())).toMatchObject({ reason: 'token_invalid' });
    expect(rig.pages).toHaveLength(1);
    expect((await rig.ask()).tokenType).toBe('DPoP');
    await revokeSignIn(rig.parts, rig.signIn());
    await rig.login();
    expect((await rig.ask()).tokenType).toBe('Bearer');
  });

  it('bound during a sign-in stay so, and its Bearer tokens are revoked', async () => {
    const all = await boundGround();
    const { world, rig, authorizationServer } = all;
    await rig.ask();
    await rig.parts.signIns.change(rig.signIn(), { isKeyBound: undefined });
    unbind(all);
    rig.person.isThere = false;
    const again = refused(rig.login());
    await rig.question('signIn');
    await rig.parts.signIns.change(rig.signIn(), { isKeyBound: true });
    await followed(world, rig.pages[1] ?? '');
    expect(await again).toMatchObject({ reason: 'token_invalid' });
    expect(authorizationServer.server.asked('/revoke', 'POST').length).toBeGreaterThan(0);
    expect((await rig.ask()).tokenType).toBe('DPoP');
  });
});

describe('a proof for a program', () => {
  const proving = async () => {
    const { rig, protectedServer } = await boundGround();
    // If a server's clock differs by five seconds, the broker goes by it. The broker's own stands still here.
    protectedServer.server.now = () => rig.clock.wall();
    const { tokenId } = await rig.ask();
    const prove = (changes: object = {}): string =>
      rig.broker.proofs.prove({ appId: 'editor', tokenId, method: 'POST', url: rig.endpoint, ...changes });
    return { rig, tokenId, prove };
  };
  const reason = async (work: () => unknown): Promise<unknown> => {
    try {
      await work();
    } catch (error) {
      return reasonOf(error);
    }
    return undefined;
  };

  it('names its request, with the nonce that the server wants', async () => {
    const { rig, prove } = await proving();
    expect(claimsOf(prove({ url: `${rig.endpoint}/below?x=1`, nonce: 'n1' }))).toMatchObject({
      htm: 'POST',
      htu: `${rig.endpoint}/below`,
      nonce: 'n1',
      iat: Math.floor(rig.clock.wall() / 1000),
    });
    await rig.parts.audit.flush();
    expect(rig.texts().join('\n')).toContain('"event":"proof"');
  });

  it('is refused for any URL outside the endpoint that the user approved', async () => {
    const { rig, prove } = await proving();
    const { origin } = new URL(rig.endpoint);
    for (const url of [
      `${origin}/`,
      `${origin}/mcp2`,
      `${origin}/mcp/%2e%2e/admin`,
      `${origin}/mcp/..%2fadmin`,
      `${origin}/mcp/%252e%252e/%zz`,
      'https://elsewhere.example/mcp',
      rig.endpoint.replace('https://', 'https://user@'),
    ])
      expect(await reason(() => prove({ url })), url).toBe('resource_mismatch');
  });

  it('is refused to another program, and for a token that is gone', async () => {
    const { rig, prove } = await proving();
    await rig.allow('agent');
    expect(await reason(() => prove({ appId: 'agent' }))).toBe('not_found');
    expect(await reason(() => prove({ tokenId: 'unknown' }))).toBe('not_found');
    await revokeSignIn(rig.parts, rig.signIn());
    expect(await reason(() => prove())).toBe('not_found');
  });

  it('is refused once its permission has ended, is denied, or all access is paused', async () => {
    const { rig, prove } = await proving();
    const key = { appId: 'editor', endpoint: rig.endpoint };
    await rig.parts.permissions.revoke(key.appId, key.endpoint);
    expect(await reason(() => prove())).toBe('consent_required');
    await rig.broker.consent.decide({ ...key, decision: 'deny', createdAt: rig.clock.now() });
    expect(await reason(() => prove())).toBe('consent_denied');
    await rig.allow();
    expect(await reason(() => prove())).toBe('consent_required');
    await rig.ask();
    expect(await reason(() => prove())).toBeUndefined();
    rig.parts.pause.begin({ since: rig.clock.wall() });
    expect(await reason(() => prove())).toBe('paused');
  });

  it('is refused if its permission no longer has the scopes of the token', async () => {
    const { rig, prove } = await proving();
    await rig.allow('editor', ['other']);
    expect(await reason(() => prove())).toBe('consent_required');
  });

  it('that was allowed one token is for no token of before, whose permission has ended', async () => {
    const { rig } = await boundGround();
    const { tokenId: wide } = await rig.ask({ scope: ['mcp:read', 'mcp:write'] });
    const key = { appId: 'editor', endpoint: rig.endpoint };
    await rig.parts.permissions.revoke(key.appId, key.endpoint);
    const permission = { ...key, decision: 'allow', createdAt: 0, scope: ['mcp:read'] } as const;
    rig.parts.temporaryPermissions.set({
      permission: { ...permission, scope: [...permission.scope], signInIds: [rig.signIn().id] },
      once: true,
    });
    const { tokenId: narrow, scope } = await rig.ask({ interaction: 'never' });
    expect(scope).toEqual(['mcp:read']);
    const prove = (tokenId: string) => (): string =>
      rig.broker.proofs.prove({ appId: 'editor', tokenId, method: 'POST', url: rig.endpoint });
    expect(await reason(prove(narrow))).toBeUndefined();
    expect(await reason(prove(wide))).toBe('consent_required');
  });

  it('that asks too often has to wait, and no other program does', async () => {
    const { rig, tokenId, prove } = await proving();
    for (let count = 0; count < 1000; count += 1) prove();
    expect(await reason(() => prove())).toBe('rate_limited');
    await rig.allow('agent');
    await rig.ask({ appId: 'agent' });
    expect(await reason(() => prove({ appId: 'agent', tokenId }))).toBeUndefined();
    rig.clock.advance(5000);
    expect(await reason(() => prove())).toBeUndefined();
  });
});
