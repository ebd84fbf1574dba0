/** The search for secrets finds what is planted: in each form, in each place, from each way it can be learned. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Printed } from '../support/home.ts';
import { learnKeys, scan } from '../support/secret-scan.ts';
import { keepSecret, secretsIn } from '../support/secrets.ts';
import { startLoopbackServer } from '../support/servers/loopback-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const fresh = (): string => randomBytes(24).toString('base64url');

const quiet = (more: Partial<Printed>): Printed => ({
  args: ['list'],
  code: 0,
  stdout: '',
  stderr: '',
  ...more,
});

describe('a planted secret', () => {
  const forms: readonly [string, (secret: string) => string | Buffer][] = [
    ['as it is', (secret) => secret],
    ['URL-encoded', (secret) => encodeURIComponent(secret)],
    ['in upper-case hex', (secret) => Buffer.from(secret).toString('hex').toUpperCase()],
    ['in base64url', (secret) => Buffer.from(secret).toString('base64url')],
    ['within a base64 text, one further', (secret) => Buffer.from(`id2:${secret}`).toString('base64')],
    ['by its bytes', (secret) => Buffer.from(secret, 'base64url')],
  ];

  it.each(forms)('is found %s', (_form, write) => {
    // Characters that a URL escapes, too.
    for (const secret of [fresh(), `${fresh()}/+=~ü`]) {
      keepSecret('refresh token', secret);
      const around = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(write(secret)), Buffer.from('"}')]);
      const isWhole = Buffer.from(secret, 'base64url').toString('base64url') === secret;
      if (!_form.startsWith('by its bytes') || isWhole) {
        expect(secretsIn('a file', around)).toMatchObject([{ place: 'a file', kind: 'refresh token' }]);
      }
    }
  });

  it('is found as the private part of any JWK, in a file and in output', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const found = (text: string): unknown => {
      const folder = temporaryFolder();
      writeFileSync(path.join(folder, 'document.json'), text);
      try {
        return scan({ folder, printed: [quiet({ stdout: text })] }).found;
      } catch (error) {
        return String(error);
      }
    };
    const secret = JSON.stringify({ dpopKey: privateKey.export({ format: 'jwk' }) });
    for (const text of [secret, JSON.stringify(secret), secret.replaceAll(':', ': ')]) {
      expect(found(text)).toMatch(/document\.json[^]*private key[^]*stdout/);
    }
    expect(found(JSON.stringify(publicKey.export({ format: 'jwk' })))).toBe(0);
  });

  it('is found by the signature of a token alone', () => {
    const signature = randomBytes(48).toString('base64url');
    keepSecret('access token', `e30.e30.${signature}`);
    expect(secretsIn('a log', `signature ${signature}`)).toMatchObject([{ kind: 'access token' }]);
  });

  const places: readonly [string, (folder: string, secret: string) => readonly Printed[]][] = [
    ['a file', (folder, secret) => (writeFileSync(path.join(folder, 'grants.json'), secret), [])],
    ['stdout', (_folder, secret) => [quiet({ stdout: `{"a":"${secret}"}` })]],
    ['stderr of `keyturn token`', (_folder, secret) => [quiet({ args: ['token'], stderr: secret })]],
    ['an argument', (_folder, secret) => [quiet({ args: ['login', `--account=${secret}`] })]],
  ];

  it.each(places)('is found in %s, and the finding does not repeat it', (_place, plant) => {
    const folder = temporaryFolder();
    const secret = fresh();
    keepSecret('access token', secret);
    const printed = plant(folder, secret);
    const found = () => scan({ folder, printed });
    expect(found).toThrow('access token');
    expect(found).not.toThrow(secret);
  });
});

describe('what may hold a secret', () => {
  it('is standard output of `keyturn token`, for an access token and nothing else', () => {
    const folder = temporaryFolder();
    const [access, refresh] = [fresh(), fresh()];
    keepSecret('access token', access);
    keepSecret('refresh token', refresh);
    const token = (stdout: string): Printed[] => [quiet({ args: ['token', 'https://a.example'], stdout })];
    expect(scan({ folder, printed: token(access) })).toMatchObject({ found: 0 });
    expect(() => scan({ folder, printed: token(refresh) })).toThrow('refresh token');
  });

  it('is the key file itself, while a copy of it is found', () => {
    const folder = temporaryFolder();
    const config = path.join(folder, 'config');
    mkdirSync(path.join(config, 'apps'), { recursive: true });
    const keys = { owner: fresh(), editor: fresh() };
    writeFileSync(path.join(config, 'owner.key'), JSON.stringify({ key: keys.owner }));
    writeFileSync(path.join(config, 'apps', 'editor.key'), JSON.stringify({ key: keys.editor }));
    learnKeys(config);
    expect(scan({ folder, printed: [] }).found).toBe(0);
    writeFileSync(path.join(config, 'owner.key.bak'), JSON.stringify({ key: keys.owner }));
    expect(() => scan({ folder, printed: [] })).toThrow('owner key');
    rmSync(path.join(config, 'owner.key.bak'));
    writeFileSync(path.join(folder, 'note'), keys.editor);
    expect(() => scan({ folder, printed: [] })).toThrow('client key');
  });
});

async function exchange(
  answer: object,
  init: RequestInit & { readonly target?: string } = {},
): Promise<void> {
  const { location, ...body } = answer as { location?: string };
  const origin = await startLoopbackServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, location === undefined ? {} : { location });
      response.write(JSON.stringify(body).slice(0, 5));
      response.end(JSON.stringify(body).slice(5));
    });
  });
  await (await fetch(`${origin}/${init.target ?? ''}`, init)).text();
}
const form = (name: string, value: string): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams({ [name]: value }).toString(),
});

it.each<[string, string, (secret: string) => Promise<void>]>([
  ['refresh token', 'of an answer', (secret) => exchange({ nested: { refresh_token: secret } })],
  [
    'code',
    'of a redirect',
    (secret) => exchange({ location: `http://127.0.0.1:1/callback?state=x&code=${secret}` }),
  ],
  ['code', 'of a request’s address', (secret) => exchange({}, { target: `callback?code=${secret}` })],
  ['verifier', 'of a form', (secret) => exchange({}, form('code_verifier', secret))],
  [
    'access token',
    'of a header',
    (secret) => exchange({}, { headers: { authorization: `Bearer ${secret}` } }),
  ],
  [
    'client secret',
    'of a header',
    (secret) =>
      exchange({}, { headers: { authorization: `Basic ${Buffer.from(`id:${secret}`).toString('base64')}` } }),
  ],
])('a secret is learned from the wire as a %s %s', async (kind, _where, send) => {
  const secret = fresh();
  await send(secret);
  await expect.poll(() => secretsIn('a place', secret)).toMatchObject([{ kind }]);
});
