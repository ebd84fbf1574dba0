/**
 * Tokens that are bound to a key (RFC 9449): every way in which programs reach a server that takes no others, and what a
 * stolen token is worth. Both servers want nonces.
 */
import { describe, expect, it } from 'vitest';
import { ProofKey } from '../../../src/oauth/client/proof-key.ts';
import { homeInWorld, newHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, signIn, startBroker, stopBroker } from '../../support/homes/owner-acts.ts';
import { clientOf, waitingLine } from '../../support/processes/bridge-client.ts';
import { keyturnPy, pythonProgram } from '../../support/processes/python.ts';
import { library, paired } from '../../support/processes/program.ts';
import { headersIn, statusWith } from '../../support/servers/bound-request.ts';
import { useNotebook } from '../../support/servers/notebook.ts';
import { call, nextCard } from '../proxy/proxy-rig.ts';

const { connect, createFetch } = await library();

const issuing = { takesBoundTokens: true };

describe('a server that takes bound tokens only', () => {
  it('serves the library through refresh, step-up and a restart', async () => {
    const { home, world, resource } = await homeInWorld({ issuing, vault: 'keychain' });
    await startBroker(home);
    await paired(home, 'notes-app');
    await allow(home, 'notes-app', resource);
    const connection = await connect({ name: 'notes-app', env: home.env });
    const fetch = createFetch(connection, { resource, fetch: world.fetch, interaction: 'allow' });
    expect(await useNotebook(world, { fetch })).toContain('alice');
    const token = await connection.getToken({ resource });
    expect(token.token_type).toBe('DPoP');

    world.expireAccessTokens();
    expect(await useNotebook(world, { fetch })).toContain('alice');
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1 });
    expect(await useNotebook(world, { fetch }, 'add-note')).toContain('milk');
    expect(world.counts().authorizationServer).toMatchObject({ codeExchanges: 2 });

    // The key comes back from the vault: the refresh token is worth nothing without it.
    await stopBroker(home);
    await startBroker(home);
    expect(await useNotebook(world, { fetch })).toContain('alice');
    expect(world.counts().authorizationServer).toMatchObject({ codeExchanges: 2, refreshes: 2 });
    expect((await askBroker(home, 'signIn.list', {})).signIns).toMatchObject([{ tokenType: 'DPoP' }]);
    connection.close();
  });

  it('serves clients behind bridge and proxy, which see no token and no proof', async () => {
    const { home, world, resource } = await homeInWorld({ issuing });
    await startBroker(home);
    await paired(home, 'an-editor');
    await allow(home, 'an-editor', resource);
    const { client, output } = await clientOf(home, resource, '--as', 'an-editor');
    expect(JSON.stringify(await client.callTool({ name: 'list-notes' }))).toContain('alice');
    world.expireAccessTokens();
    expect(JSON.stringify(await client.callTool({ name: 'list-notes' }))).toContain('alice');
    expect(output.stderr).toBe(waitingLine('an-editor', resource));
    await client.close();

    const url = (await home.ok(['proxy', 'add', resource])).trim();
    const asking = call(url, { accept: 'application/json, text/event-stream' });
    const { id } = await nextCard(home);
    await askBroker(home, 'request.answer', { id, answer: 'yes' });
    const answer = await asking;
    expect(answer.status).toBe(200);
    expect([...answer.headers.keys()]).not.toContain('dpop-nonce');
  });

  it('refuses a fixed header or variable, and names the ways that work', async () => {
    const { home, resource } = await homeInWorld({ issuing });
    await startBroker(home);
    await allow(home, 'cli', resource);
    const plain = await home.keyturn(['token', resource]);
    expect(plain).toMatchObject({ code: 0, stderr: expect.stringContaining('is bound to a key (DPoP)') });
    for (const args of [
      ['headers', resource, '--timeout', '30s'],
      ['exec', '--env', `TOKEN=${resource}`, '--', 'env'],
    ]) {
      const run = await home.keyturn(args);
      expect(run).toMatchObject({ code: 5, stdout: '' });
      expect(run.stderr).toContain('keyturn bridge, or keyturn proxy add');
      expect(run.stderr).toContain('reason: token_invalid');
    }
  });
});

/** A whole program for Python: follows the server's nonce once, and asks for headers anew each time. */
const python = `
import json, ssl, sys, urllib.error, urllib.request
import keyturn

resource, authority = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)
nonce = None

def call(headers):
    global nonce
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    more = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(resource, json.dumps(body).encode(), {**headers, **more})
    try:
        with urllib.request.urlopen(request, context=context) as response:
            return response.status
    except urllib.error.HTTPError as error:
        nonce = error.headers.get("DPoP-Nonce")
        return error.code

with keyturn.connect("notes-py") as broker:
    token = broker.get_token(resource, interaction="allow")
    headers = lambda: broker.headers(token, "POST", resource + "?x=1", nonce)
    print(token.token_type, call({"Authorization": token.header}), call(headers()))
    try:
        broker.headers(token, "POST", "https://elsewhere.example/")
    except keyturn.KeyturnError as error:
        print(error.reason, token.access_token in repr(token) + repr(error))
`;

describe('a program for Python', () => {
  it('reaches a server that takes bound tokens only, with headers for each request', async () => {
    const { home, world, resource } = await homeInWorld({ issuing });
    await startBroker(home);
    await paired(home, 'notes-py');
    await allow(home, 'notes-py', resource);
    expect(await pythonProgram(python, [resource, world.caFile], home.env)).toEqual({
      code: 0,
      stdout: 'DPoP 401 200\nresource_mismatch False\n',
      stderr: '',
    });
    const printed = await keyturnPy(['token', 'notes-py', resource, '--dpop', 'POST'], home.env);
    expect(printed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Authorization: DPoP \S+\nDPoP: \S+\n$/),
    });
  });
});

describe('a stolen token', () => {
  it('P-7: is refused without a proof of its key', async () => {
    const { home, world, resource } = await homeInWorld({ issuing });
    await startBroker(home);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    const { access_token: token, tokenId } = JSON.parse(
      await home.ok(['token', resource, '--json']),
    ) as Record<string, string>;
    const first = await world.fetch(resource, { method: 'POST' });
    const nonce = first.headers.get('dpop-nonce') ?? '';
    const proven = async (method: string): Promise<Record<string, string>> =>
      headersIn(await home.ok(['token', resource, '--dpop', method, '--nonce', nonce]));

    // Without a proof, or with one of another key.
    expect(await statusWith(world, { authorization: `Bearer ${token}` })).toBe(401);
    expect(await statusWith(world, { authorization: `DPoP ${token}` })).toBe(401);
    const thiefs = ProofKey.create().proof({
      method: 'POST',
      url: new URL(resource),
      accessToken: token ?? '',
      nonce,
      time: Date.now(),
    });
    expect(await statusWith(world, { authorization: `DPoP ${token}`, dpop: thiefs })).toBe(401);
    // With a proof that was overheard: it is for one method, and was used.
    expect(await statusWith(world, await proven('GET'))).toBe(401);
    const used = await proven('POST');
    expect(await statusWith(world, used)).toBe(200);
    expect(await statusWith(world, used)).toBe(401);

    // From the broker a thief gets no proof: the token was not its own.
    await paired(home, 'thief');
    const connection = await connect({ name: 'thief', env: home.env });
    await expect(
      connection.proveToken({ tokenId: tokenId ?? '', method: 'POST', url: resource, nonce }),
    ).rejects.toMatchObject({ reason: 'not_found' });
    connection.close();
  });
});

describe('two brokers of one person', () => {
  it('have keys of their own, and sign-ins that end one by one', async () => {
    const { home, world, resource } = await homeInWorld({ issuing });
    const homes = [home, newHome({ world })];
    const tokens = await Promise.all(
      homes.map(async (each) => {
        await startBroker(each);
        await allow(each, 'cli', resource);
        await signIn(each, resource);
        return JSON.parse(await each.ok(['token', resource, '--json'])) as Record<string, string>;
      }),
    );
    const nonce = (await world.fetch(resource, { method: 'POST' })).headers.get('dpop-nonce') ?? '';
    const proven = await Promise.all(
      homes.map(async (each) =>
        headersIn(await each.ok(['token', resource, '--dpop', 'POST', '--nonce', nonce])),
      ),
    );
    const [first, second] = proven;
    expect(tokens[0]?.['access_token']).not.toBe(tokens[1]?.['access_token']);
    const crossed = { authorization: first?.['Authorization'] ?? '', dpop: second?.['DPoP'] ?? '' };
    expect(await statusWith(world, crossed)).toBe(401);
    for (const headers of proven) expect(await statusWith(world, headers)).toBe(200);

    await askBroker(home, 'signIn.revoke', { resource });
    world.expireAccessTokens();
    const old = { stdin: tokens[1]?.['access_token'] ?? '' };
    await homes[1]?.ok(['token', resource, '--rejected-token-stdin'], old);
    const later = await homes[1]?.ok(['token', resource, '--dpop', 'POST', '--nonce', nonce]);
    expect(await statusWith(world, headersIn(later ?? ''))).toBe(200);
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 2, codeExchanges: 2, refreshes: 1 });
  });
});
