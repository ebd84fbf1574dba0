/** A broker at which a user sits: what commands want to widen waits for their yes. Real commands, real broker, the owner in-process. */
import { describe, expect, it } from 'vitest';
import { methods } from '../../../src/ipc/protocol/methods.ts';
import { openDesk } from '../../support/homes/desk-home.ts';
import { newHome } from '../../support/home.ts';
import { asks, connected, library } from '../../support/processes/program.ts';

const resource = 'https://notes.example/mcp';

const byCommand = {
  rule: 'While the Keyturn app is running, commands that grant access must be approved in its window',
};

describe('keyturn app allow while the app runs', () => {
  it('waits for the card, says so, and is done after an approval', async () => {
    const { home, card, cards, answer, permissions } = await openDesk(newHome());
    const narrow = ['--scope', 'notes:read', '--for', '8h'];
    const allowing = home.start(['app', 'allow', 'cli', `${resource}/`, ...narrow]);
    const { id, appProcess, until: end, ...shown } = await card();
    expect(shown).toMatchObject({ command: 'allow', app: 'cli', resource, scope: 'notes:read' });
    expect(end).toBeGreaterThan(Date.now() / 1000 + 7 * 3600);
    expect(appProcess).toMatchObject({ verified: true, pid: allowing.pid });
    expect(await permissions()).toEqual([]);
    await allowing.says('keyturn: the request waits in Keyturn’s window.');
    await answer(id, 'approve');
    expect(await allowing.ended).toMatchObject({ code: 0, stdout: '' });
    expect(await permissions()).toMatchObject([
      { resource, scope: 'notes:read', until: end, decision: 'allow' },
    ]);
    expect(await cards()).toEqual([]);
    expect(await home.ok(['audit', 'log'])).toContain('allow: approve');
  });

  it('refuses at once, without a card, what can never be done', async () => {
    const { line, cards } = await openDesk(newHome());
    const refused = async (method: string, params: object): Promise<unknown> => {
      const { reason } = await line.request(method, params).then(
        () => ({ reason: 'none' }),
        (error: { reason: string }) => error,
      );
      return [reason, (await cards()).length];
    };
    const allow = { app: 'cli', resource, decision: 'allow' };
    const [method, http] = ['permission.set', 'http://a.example'];
    expect(await refused(method, { ...allow, app: 'nobody' })).toEqual(['not_found', 0]);
    expect(await refused(method, { ...allow, resource: http })).toEqual(['invalid_resource', 0]);
    const client = { issuer: http, clientId: 'x' };
    expect(await refused('oauthClient.add', client)).toEqual(['insecure_url', 0]);
    const setting = { name: 'logLevel', value: 'loud' };
    expect(await refused('settings.set', setting)).toEqual(['invalid_request', 0]);
  });
});

it.each(['token.get', 'token.prove', 'url.show'])('%s is answered to no window', async (method) => {
  const { owner } = await openDesk(newHome());
  await expect(owner.call(method as never, { resource })).rejects.toMatchObject({
    reason: 'not_permitted',
    rule: 'no token ever reaches a window',
  });
});

/** A server that the command line is denied. */
const denied = 'https://denied.example';

const issuer = 'https://login.example';
const started = { account: 'work', issuer, scope: 'a b', method: 'paste' };
const entered = { issuer, clientId: 'abc', authMethod: 'client_secret_post', grantType: 'id-jag' };
const machine = { label: 'build.example', hostKey: `SHA256:${'k'.repeat(43)}` };

/** A request of each method that widens, and what its card has to show. */
const widening: Readonly<Record<string, readonly [params: object, shown: object]>> = {
  'permission.set': [
    { app: 'cli', resource: 'https://NOTES.example:443/mcp', decision: 'allow' },
    { command: 'allow', app: 'cli', resource },
  ],
  'permission.revoke': [
    { app: 'cli', resource: denied },
    { command: 'endDenial', app: 'cli', resource: denied },
  ],
  'apiKey.set': [
    { resource, header: 'x-api-key', value: 'anApiKey-2718', unchecked: true },
    { command: 'apiKey', resource, apiKey: { header: 'x-api-key' }, replaces: false, unchecked: true },
  ],
  'apiKey.permission.set': [
    { app: 'cli', resource, decision: 'allow' },
    { command: 'allow', app: 'cli', resource, apiKey: { header: 'x-api-key' } },
  ],
  'apiKey.permission.revoke': [
    { app: 'cli', resource: denied },
    { command: 'endDenial', app: 'cli', resource: denied, apiKey: { header: 'x-api-key' } },
  ],
  'proxy.add': [{ resource }, { command: 'proxy', resource, app: 'notes.example' }],
  'forward.open': [
    { ...machine, resources: [`${resource}/`], lifetime: 3600 },
    { command: 'forward', forward: machine, resources: [resource], until: expect.any(Number) as number },
  ],
  'oauthClient.add': [
    {
      ...entered,
      issuer: 'https://LOGIN.example',
      clientSecret: 'aClientSecret-0815',
      idp: { issuer: 'https://IDP.example', clientId: 'desk', idTokenFile: '/nowhere/id-token' },
    },
    { ...entered, command: 'oauthClient', idp: 'https://idp.example', replaces: false },
  ],
  'signIn.start': [
    { ...started, resource: `${resource}/`, issuer: 'https://LOGIN.example' },
    { ...started, command: 'signIn', resource },
  ],
  'exception.set': [
    { server: 'https://Notes.example/mcp', name: 'no-resource', on: true },
    { command: 'exception', server: resource, exception: 'no-resource' },
  ],
  'settings.set': [
    { name: 'httpsProxy', value: 'http://me:aProxyPassword-4711@proxy.example:3128' },
    { command: 'settings', setting: { name: 'httpsProxy', value: 'http://me:***@proxy.example:3128/' } },
  ],
  resume: [{}, { command: 'resume' }],
  'backup.open': [{ sealedKey: 'A'.repeat(80) }, { command: 'backup' }],
  'vault.unlock': [{ passphrase: 'aPassphrase-1234' }, { command: 'unlock' }],
  'vault.passphrase': [
    { current: 'aPassphrase-1234', next: 'anotherPassphrase-5678' },
    { command: 'passphrase' },
  ],
};

it('a request whose time is over is led to the window if its question waits there', async () => {
  const { home, answer, card } = await openDesk(newHome());
  const run = await home.keyturn(['token', resource, '--timeout', '1s']);
  expect(run).toMatchObject({ code: 3, stdout: '' });
  expect(run.stderr).toContain('hint: Answer in Keyturn’s window, then ask again.\n');
  expect(run.stderr).not.toContain('keyturn request approve');
  await answer((await card()).id, 'dismiss');
});

describe('the owner’s key while the app runs', () => {
  it('widens nothing: each such method has its card, with no secret on it', async () => {
    const all = Object.entries(methods).flatMap(([method, { effect }]) =>
      effect === 'widens' || effect === 'mayWiden' ? [method] : [],
    );
    expect(all.toSorted()).toEqual([...Object.keys(widening), 'request.answer'].toSorted());
    const { line, owner, cards, card, answer } = await openDesk(newHome());
    await owner.call('permission.set', { app: 'cli', resource: denied, decision: 'deny' });
    const key = { resource: denied, header: 'x-api-key', value: 'anApiKey-3141', unchecked: true } as const;
    await owner.call('apiKey.set', key);
    await owner.call('apiKey.permission.set', { app: 'cli', resource: denied, decision: 'deny' });
    await line.request('pause');
    const before = await line.request('settings.get');
    for (const [method, [params, shown]] of Object.entries(widening)) {
      const asking = line.request(method, params).catch((error: { reason: string }) => error.reason);
      const { id, createdAt: _, expiresAt: _end, appProcess, ...rest } = await card();
      expect(rest, method).toEqual({ kind: 'command', state: 'open', ...shown });
      expect(appProcess).toMatchObject({ verified: true, pid: process.pid });
      await answer(id, 'approve');
      // A memory vault has no passphrase to change, nobody answers at that server, and no vault sealed that backup.
      const refusals = 'invalid_request not_permitted conflict mcp_server_unreachable vault_unreadable';
      expect([...refusals.split(' '), undefined], method).toContain(
        await asking.then((outcome) => (typeof outcome === 'string' ? outcome : undefined)),
      );
      expect(await cards()).toEqual([]);
    }
    expect(await line.request('settings.get')).not.toEqual(before);
  });

  it('approves no app, no pairing and not itself, and may deny', async () => {
    const { home, line, card, cards, answer, permissions } = await openDesk(newHome());
    const { pair } = await library();
    const pairing = pair({ name: 'editor', env: home.env, onCode: () => undefined });
    const refusal = { reason: 'not_permitted', ...byCommand };
    const first = await card();
    await expect(line.request('request.answer', { id: first.id, answer: 'approve' })).rejects.toMatchObject(
      refusal,
    );
    const asked = await home.ok(['request', 'list']);
    expect(asked).toContain(
      `  Answer in Keyturn’s window. To deny it from here:\n  keyturn request deny ${first.id}\n`,
    );
    expect(asked).not.toContain('approve');
    await answer(first.id, 'approve');
    await pairing;

    const editor = await connected(home, 'editor');
    const asking = asks(editor, { resource });
    const second = await card();
    const run = await home.keyturn(['request', 'approve', second.id]);
    expect(run).toMatchObject({ code: 4, stdout: '' });
    expect(run.stderr).toContain('hint: Answer it in Keyturn’s window.');
    expect(await home.ok(['request', 'list'])).toContain(`May editor reach ${resource}`);
    await home.ok(['request', 'deny', second.id]);
    await expect(asking).rejects.toMatchObject({ reason: 'consent_required' });

    const allowing = home.start(['app', 'allow', 'editor', resource]);
    const third = await card();
    expect(await home.ok(['request', 'list'])).toContain(`May a command allow editor ${resource}?`);
    expect(await home.keyturn(['request', 'approve', third.id])).toMatchObject({ code: 4 });
    await home.ok(['request', 'deny', third.id, '--remember']);
    expect(await allowing.ended).toMatchObject({ code: 4 });
    expect(await permissions()).toEqual([]);
    expect(await cards()).toEqual([]);
  });
});
