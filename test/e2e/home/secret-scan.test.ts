/**
 * Journeys through everything that handles a secret, with servers that repeat what they were told.
 * Each home is scanned when it closes (test/support/secret-scan.ts), as the homes of all other tests are;
 * here the test also sees that there was something to find.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInBentWorld, LocalProgram, programInBentWorld } from '../../support/bent/home.ts';
import { json } from '../../support/bent/answer.ts';
import type { JsonReply } from '../../support/bent/parties.ts';
import type { RecordedRequest } from '../../support/bent/server.ts';
import { homeInWorld, type TestHome, until } from '../../support/home.ts';
import { askBroker, questionsAt } from '../../support/homes/ask-broker.ts';
import { allow, startBroker } from '../../support/homes/owner-acts.ts';
import { keepSecret, secretsKnown } from '../../support/secrets.ts';

/** Milliseconds. A dozen processes one after another, on a machine that is busy with ten other things. */
const patience = 180_000;

const fresh = (): string => randomBytes(24).toString('base64url');

/** Shows what there is to show. */
async function lookAround(home: TestHome): Promise<void> {
  for (const command of ['sign-in', 'status', 'request']) await home.keyturn([command, '--json']);
  await home.keyturn(['audit', 'log', '--lines', '200']);
  await home.keyturn(['audit', 'export', '--format', 'csv']);
}

/** A refusal whose words are all that the request held, as some servers' debug modes have it. */
function echo(reply: JsonReply, { form, headers }: RecordedRequest) {
  const words = `${form.toString()} ${headers.authorization ?? ''}`;
  return json(
    { ...reply.body, error_description: words, error_uri: `https://help.example/?${form.toString()}` },
    400,
  );
}

/** A key of a user's own, in a file of theirs; each line of it counts as a secret. */
function privateKeyFile(home: TestHome): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  for (const line of pem.split('\n').filter((text) => !text.startsWith('-'))) keepSecret('private key', line);
  mkdirSync(home.folder, { recursive: true, mode: 0o700 });
  const file = path.join(home.folder, 'key.pem');
  writeFileSync(file, pem, { mode: 0o600 });
  return file;
}

describe('no secret is found', { timeout: patience }, () => {
  it('PROMISE-1 X-4: after a whole life of a sign-in, and a crash', async () => {
    const { home, world, resource } = await homeInWorld({ vault: 'keychain' });
    const before = secretsKnown();
    await startBroker(home);
    await allow(home, 'cli', resource);
    const token = (await home.ok(['token', resource])).trim();
    await home.ok(['token', resource, '--rejected-token-stdin'], { stdin: token });
    const wide = (await home.ok(['token', resource, '--scope', 'notes:write', '--json'])).trim();
    expect(wide).toContain('access_token');
    world.failTokenRequests(1);
    await home.keyturn(['token', resource, '--rejected-token-stdin'], { stdin: token });
    await home.keyturn(['token', resource, '--status', '500', '--rejected-token-stdin'], { stdin: token });
    const { pid: broker } = await askBroker(home, 'status', {});
    process.kill(broker, 'SIGABRT');
    await until('it is gone', () => home.brokers().length === 0);
    await lookAround(home);
    for (const command of ['sign-in', 'app', 'status', 'request']) await home.ok([command]);
    await home.ok(['logout', resource]);
    // An access token and a refresh token of three kinds each, two codes, two verifiers.
    expect(secretsKnown() - before).toBeGreaterThan(9);
    expect(readFileSync(path.join(home.paths.state, 'audit.jsonl'), 'utf8')).toContain('"token"');
  });

  it('PROMISE-1: after servers repeated all that they had been told', async () => {
    const { home, program, authorizationServer, url } = await programInBentWorld();
    expect((await program.call()).status).toBe(200);
    authorizationServer.bend.tokenError = echo;
    authorizationServer.bend.tokenAnswer = (reply, request) =>
      echo({ ...reply, body: { error: 'invalid_request' } }, request);
    authorizationServer.expireAccessTokens();
    expect((await program.call()).run.code).not.toBe(0);
    await home.keyturn(['login', url]);
    authorizationServer.bend.revocationAnswer = echo;
    await home.keyturn(['logout', url]);
    authorizationServer.bend.registrationError = echo;
    authorizationServer.bend.registrationAnswer = (reply) =>
      json({
        ...reply.body,
        client_secret: fresh(),
        registration_access_token: fresh(),
        redirect_uris: 'none',
      });
    await home.keyturn(['login', url, '--account', 'other']);
    await lookAround(home);
  });

  it('PROMISE-1: after metadata repeated a token', async () => {
    const { home, program, authorizationServer, protectedServer, url } = await programInBentWorld({});
    expect((await program.call()).status).toBe(200);
    const seen = protectedServer.server.requests.map(({ headers }) => headers.authorization ?? '');
    const token = seen.find((header) => header.startsWith('Bearer '))?.slice('Bearer '.length) ?? '';
    expect(token.length).toBeGreaterThan(20);
    authorizationServer.bend.metadata = (document) => ({
      ...document,
      issuer: `https://${token}.example`,
      note: token,
    });
    await home.keyturn(['login', url, '--account', 'again']);
    const challenge = `Bearer error="insufficient_scope", scope="read ${'x'.repeat(40)}", error_description="odd"`;
    await home.keyturn(['token', url, '--challenge', challenge]);
    await lookAround(home);
  });

  it('after clients were entered with a secret and with a private key', async () => {
    const there = await homeInBentWorld({
      authorization: { authMethods: ['client_secret_post', 'private_key_jwt'] },
    });
    const { home, authorizationServer, url } = there;
    const { issuer } = authorizationServer;
    const secret = fresh();
    authorizationServer.addClient({ clientId: 'bot', authMethod: 'client_secret_post', secret });
    const args = ['oauth-client', 'add', issuer, '--client-id', 'bot', '--client-secret-stdin'];
    await home.ok([...args, '--grant-type', 'client_credentials'], { stdin: secret });
    await home.ok(['app', 'allow', 'cli', url]);
    const program = new LocalProgram(there);
    expect((await program.call()).status).toBe(200);
    authorizationServer.bend.tokenError = echo;
    authorizationServer.clients.clear();
    authorizationServer.expireAccessTokens();
    await program.call();
    const file = privateKeyFile(home);
    const signer = ['--client-id', 'signer', '--private-key', file, '--alg', 'RS256'];
    await home.keyturn(['oauth-client', 'add', issuer, ...signer]);
    await home.keyturn(['login', url, '--timeout', '3s']);
    await lookAround(home);
  });

  it('after sign-ins by device and by a pasted address', async () => {
    const { home, world, url } = await homeInBentWorld({ authorization: { deviceAuthorization: true } });
    const device = home.start(['login', url, '--device', '--timeout', '10s']);
    expect((await device.ended).code).toBe(3);
    const pasting = home.start(['login', url, '--paste'], { stdinStaysOpen: true });
    await pasting.says('paste that whole address here:');
    const question = (await questionsAt(home)).find(({ url: page }) => page?.includes('redirect_uri='));
    const reply = await world.fetch(question?.url ?? '', { redirect: 'manual' });
    const address = new URL(reply.headers.get('location') ?? '');
    const foreign = new URL(address);
    foreign.searchParams.set('state', 'another');
    pasting.types(foreign.href);
    await pasting.says('belongs to another sign-in');
    pasting.types(address.href);
    await pasting.says('as "default"');
    expect((await pasting.ended).code).toBe(0);
    await lookAround(home);
  });
});
