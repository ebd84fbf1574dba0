/**
 * Tokens that are bound to a DPoP key (RFC 9449): every way in which programs reach a server that takes no others, and what a
 * stolen token is worth. Both servers want nonces.
 */
import { describe, expect, it } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, startBroker, stopBroker } from '../../support/homes/owner-acts.ts';
import { clientOf, waitingLine } from '../../support/processes/bridge-client.ts';
import { keyturnPy, pythonProgram } from '../../support/processes/python.ts';
import { library, paired } from '../../support/processes/program.ts';
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
    expect(world.counts().authorizationServer).toMatchObject({ codesRedeemed: 2 });

    // The key comes back from the vault: the refresh token is worth nothing without it.
    await stopBroker(home);
    await startBroker(home);
    expect(await useNotebook(world, { fetch })).toContain('alice');
    expect(world.counts().authorizationServer).toMatchObject({ codesRedeemed: 2, refreshes: 2 });
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
    expect(plain).toMatchObject({ code: 0, stderr: expect.stringContaining('is bound to a DPoP key') });
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

it('a Python program reaches a server of bound tokens, with headers for each request', async () => {
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
