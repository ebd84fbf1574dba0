/**
 * Issuer mix-up (RFC 9700 §4.4): a hostile authorization server sends the browser on to an honest one, with
 * Keyturn's state and challenge, so that Keyturn would post the honest code and its verifier to the hostile
 * token endpoint. Neither server names itself in its answers (RFC 9207).
 */
import { describe, expect, it } from 'vitest';
import { refusal, type RigOptions } from '../broker/rig.ts';
import { callbackOf, enter, followed, ground, parameter, refused, tokenRequests } from '../rules/ground.ts';
import type { BentAuthorizationServerOptions } from '../support/bent/authorization-server.ts';
import { redirectTo } from '../support/bent/server.ts';

const clientMetadataUrl = 'https://keyturn.example/client.json';

interface Both {
  readonly hostile?: BentAuthorizationServerOptions;
  readonly honest?: BentAuthorizationServerOptions;
  readonly rig?: RigOptions;
}

/**
 * The home's MCP server names the hostile one. The honest one, whose MCP server is `notes`, takes a loopback redirect at
 * any port.
 */
async function mixed({ hostile, honest, rig = {} }: Both = {}) {
  const all = await ground({ authorization: { issInResponse: false, ...hostile }, rig });
  const victim = await all.world.openAuthorizationServer({
    issInResponse: false,
    redirectMatching: 'anyLoopbackPort',
    ...honest,
  });
  const notes = await all.world.openProtectedServer({ authorizationServers: [victim] });
  await all.rig.allow('editor', undefined, notes.url);
  return { ...all, hostile: all.authorizationServer, honest: victim, notes };
}

type Mixed = Awaited<ReturnType<typeof mixed>>;

/** The hostile server sends the browser on, as the client that the honest one knows. */
function sendsOn({ hostile, honest }: Mixed, clientId: string): void {
  hostile.bend.authorizeAnswer = (_reply, { url }) => {
    const onward = new URL(`${honest.server.base}/authorize${url.search}`);
    onward.searchParams.set('client_id', clientId);
    return redirectTo(onward.href);
  };
}

/** Asks for a token at the hostile server, and calls the sign-in off where it goes on. The error, where there is one. */
async function fallInto({ rig }: Mixed): Promise<unknown> {
  const asked = refusal(rig.ask());
  const calledOff = async (): Promise<void> => {
    const { id } = await rig.question('signIn');
    await rig.visited();
    const isOpen = rig.parts.approvalRequests.list().some((open) => open.id === id);
    if (isOpen) rig.parts.approvalRequests.answer(id, 'deny');
  };
  await Promise.race([asked, calledOff()]);
  return asked;
}

it('N-13: after dynamic registration an honest code reaches no hostile endpoint', async () => {
  const all = await mixed();
  await all.rig.ask({ resource: all.notes.url });
  const [client] = [...all.honest.clients.keys()];
  sendsOn(all, client ?? '');
  await fallInto(all);
  expect(tokenRequests(all.hostile)).toEqual([]);
});

describe('with a metadata document, whose client_id and redirect URIs every issuer knows', () => {
  const documents = { clientIdMetadataDocuments: true, redirectMatching: 'anyLoopbackPort' } as const;
  const rig = { clientMetadataUrl } as const;

  /** Both servers read the document: they take the redirect URIs that stand in it, and no others. */
  async function withDocuments(hostile: BentAuthorizationServerOptions = {}) {
    const all = await mixed({ hostile: { ...documents, ...hostile }, honest: documents, rig });
    sendsOn(all, clientMetadataUrl);
    return all;
  }

  it('N-13: registers dynamically at a second issuer', async () => {
    const all = await withDocuments();
    await all.rig.ask({ resource: all.notes.url });
    expect(parameter(all.rig.pages[0], 'client_id')).toBe(clientMetadataUrl);
    await fallInto(all);
    expect(parameter(all.rig.pages[1], 'client_id')).not.toBe(clientMetadataUrl);
    expect(tokenRequests(all.hostile)).toEqual([]);
  });

  it('N-13 R-2: refuses a second issuer that takes only the document, without a page', async () => {
    const all = await withDocuments({ registration: 'absent' });
    await all.rig.ask({ resource: all.notes.url });
    expect(await refused(all.rig.ask())).toMatchObject({
      reason: 'registration_required',
      message: expect.stringContaining(all.honest.issuer),
      rule: expect.stringContaining('RFC 9700 §4.4.2'),
      hint: expect.stringContaining(`keyturn oauth-client add ${all.hostile.issuer} --client-id`),
    });
    expect(all.rig.pages).toHaveLength(1);
    expect(tokenRequests(all.hostile)).toEqual([]);
  });

  it('N-13: checks again before the code is sent', async () => {
    const all = await withDocuments({ registration: 'absent' });
    all.rig.person.isThere = false;
    const asked = refused(all.rig.ask());
    await all.rig.question('signIn');
    const { registrations } = all.rig.parts;
    const [{ redirectUri } = { redirectUri: '' }] = registrations.all().map((record) => record.registration);
    const { issuer } = all.honest;
    const source = 'metadata_document';
    const known = { issuer, clientId: clientMetadataUrl, source, redirectUri, registeredAt: 0 } as const;
    await registrations.add({ ...known, tokenEndpointAuthMethod: 'none' }, undefined);
    await followed(all.world, all.rig.pages[0] ?? '');
    expect(await asked).toMatchObject({ reason: 'issuer_mismatch', rule: 'RFC 9700 §4.4.2' });
    expect(all.honest.counts.authorizations).toBe(1);
    expect(tokenRequests(all.hostile)).toEqual([]);
  });
});

describe('with clients that the user entered', () => {
  /** Both are entered; at the honest one somebody signed in before. */
  async function entered(options: Both = {}) {
    const all = await mixed(options);
    const clientId = 'at-the-honest-one';
    await enter(all.rig, all.honest, { clientId }, { clientId });
    await all.rig.ask({ resource: all.notes.url });
    await enter(all.rig, all.hostile);
    return { ...all, clientId };
  }

  it('N-13: refuses an answer without iss where two of them share a redirect path', async () => {
    const all = await entered();
    sendsOn(all, all.clientId);
    expect(await fallInto(all)).toMatchObject({
      reason: 'issuer_mismatch',
      rule: 'RFC 9700 §4.4.2',
      message: expect.stringContaining(all.honest.issuer),
      hint: expect.stringMatching(
        /keyturn oauth-client add \S+ --client-id ID --redirect-uri http:\/\/127\.0\.0\.1:\d+\//,
      ),
    });
    expect(all.honest.counts.authorizations).toBeGreaterThan(0);
    expect(tokenRequests(all.hostile)).toEqual([]);
  });

  it('N-13: takes an answer that names its issuer, at a path that two of them share', async () => {
    const all = await entered({ hostile: { issInResponse: true }, honest: { issInResponse: true } });
    expect((await all.rig.ask()).issuer).toBe(all.hostile.issuer);
    expect((await all.rig.ask({ resource: all.notes.url })).issuer).toBe(all.honest.issuer);
  });

  it('N-13: takes no answer for a client that was entered anew while the page was open', async () => {
    const { rig, world, authorizationServer } = await ground();
    const { clientId, redirectUri } = await enter(rig, authorizationServer);
    rig.person.isThere = false;
    const asked = refused(rig.ask());
    await rig.question('signIn');
    const callback = await callbackOf({ world }, rig.pages[0]);
    await enter(rig, authorizationServer, { clientId, redirectUri: `${redirectUri}/other` });
    await followed(world, callback.href);
    expect(await asked).toMatchObject({ reason: 'login_failed', rule: expect.stringContaining('RFC 9700') });
    expect(tokenRequests(authorizationServer)).toEqual([]);
  });
});
