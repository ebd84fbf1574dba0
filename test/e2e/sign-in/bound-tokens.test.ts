/** Tokens bound to a DPoP key (RFC 9449): every way to use them, and what a stolen one is worth. With nonces. */
import { describe, expect, it } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, startBroker, stopBroker } from '../../support/homes/owner-acts.ts';
import { clientOf, waitingLine } from '../../support/processes/bridge-client.ts';
import { library, paired } from '../../support/processes/program.ts';
import { verdictOn } from '../../support/servers/notebook.ts';
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
    const use = async (tool: 'list-notes' | 'add-note') =>
      (await verdictOn(world, undefined, tool, fetch)).body;
    expect(await use('list-notes')).toContain('alice');
    const token = await connection.getToken({ resource });
    expect(token.token_type).toBe('DPoP');

    world.expireAccessTokens();
    expect(await use('list-notes')).toContain('alice');
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1 });
    expect(await use('add-note')).toContain('milk');
    expect(world.counts().authorizationServer).toMatchObject({ codesRedeemed: 2 });

    // The key comes back from the vault: the refresh token is worth nothing without it.
    await stopBroker(home);
    await startBroker(home);
    expect(await use('list-notes')).toContain('alice');
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
    // Only a sign-in that takes a second says so.
    expect(output.stderr.replace(waitingLine('an-editor', resource), '')).toBe('');
    await client.close();

    const url = (await home.ok(['proxy', 'add', resource])).trim();
    const asking = call(url, { accept: 'application/json, text/event-stream' });
    const { id } = await nextCard(home);
    await askBroker(home, 'request.answer', { id, answer: 'approve' });
    const answer = await asking;
    expect(answer.status).toBe(200);
    expect([...answer.headers.keys()]).not.toContain('dpop-nonce');
  });
});
