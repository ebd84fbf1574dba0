/** What tells a person how to answer a question: in the window where a person sits at the broker, else by commands. */
import { describe, expect, it } from 'vitest';
import { openDesk } from '../../support/homes/desk-home.ts';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { newHome, type TestHome, until } from '../../support/home.ts';
import { asks, connected, library } from '../../support/processes/program.ts';

const resource = 'https://notes.example/mcp';

/** What `keyturn request list` shows, once it shows something. */
async function pending(home: TestHome): Promise<string> {
  return until('a question', async () => {
    const shown = await home.ok(['request', 'list']);
    return shown === '' ? undefined : shown;
  });
}

describe('keyturn request list at a desk', () => {
  it('leads to the window, and takes what that shows to type', async () => {
    const { home, card, answer } = await openDesk(newHome());
    const { pair } = await library();
    const pairing = pair({ name: 'editor', env: home.env, onCode: () => undefined });
    const first = await card();
    const asked = await pending(home);
    expect(asked).toContain(
      `  Answer in Keyturn’s window. To deny it from here:\n  keyturn request deny ${first.id}\n`,
    );
    expect(asked).not.toContain('approve');
    await answer(first.id, 'yes');
    await pairing;

    const editor = await connected(home, 'editor');
    const asking = asks(editor, { resource });
    const second = await card();
    const wanted = await pending(home);
    expect(wanted).toContain(`May editor reach ${resource}?`);
    expect(wanted).toContain(
      `  Answer in Keyturn’s window. To deny it from here:\n  keyturn request deny ${second.id}\n`,
    );
    expect(wanted).not.toContain('approve');
    await home.ok(['request', 'deny', second.id, '--remember']);
    await expect(asking).rejects.toMatchObject({ reason: 'consent_denied' });
  });
});

it('a request whose time is over is led to the window if its question waits there', async () => {
  const { home, answer, card } = await openDesk(newHome());
  const run = await home.keyturn(['token', resource, '--timeout', '1s']);
  expect(run).toMatchObject({ code: 3, stdout: '' });
  expect(run.stderr).toContain('reason: consent_pending');
  expect(run.stderr).toContain('hint: Answer in Keyturn’s window, then ask again.');
  expect(run.stderr).not.toContain('keyturn request approve');
  await answer((await card()).id, 'later');
});

describe('keyturn oauth-client add at a desk', () => {
  it('says without a card that a sign-in needs the client', async () => {
    const { home, world, authorizationServer, url } = await homeInBentWorld();
    const { owner, card, cards } = await openDesk(home);
    const { issuer } = authorizationServer;
    const entered = await owner.call('oauthClient.set', { issuer, clientId: 'by-hand' });
    const { redirectUri } = entered as { redirectUri: string };
    authorizationServer.addClient({ clientId: 'by-hand', redirectUris: [redirectUri] });
    const signingIn = owner.call('signIn.start', { resource: url });
    const { url: page = '' } = await card();
    await (await world.fetch(page)).body?.cancel();
    await signingIn;
    const run = await home.keyturn(['oauth-client', 'add', issuer, '--client-id', 'another']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('is still needed by');
    expect(await cards()).toEqual([]);
  });
});
