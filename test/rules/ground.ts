/** The broker's real parts in a bent world, one for each test. The user at the browser only follows redirects. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { enterRegistration } from '../../src/daemon/methods/registration-entry.ts';
import { brokerRig, refusal, type Rig, type RigOptions } from '../broker/rig.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { bearerChallenge } from '../../src/oauth/discovery/challenge.ts';
import type { BentAuthorizationServer, BentClient } from '../support/bent/authorization-server.ts';
import type { BentProtectedServer } from '../support/bent/protected-server.ts';
import type { Answer, RecordedRequest } from '../support/bent/server.ts';
import { openBentWorld, type BentWorld, type BentWorldOptions } from '../support/bent/world.ts';
import { until } from '../support/home.ts';
import { freeRedirect } from '../support/servers/port.ts';
import { ofTest } from '../support/lasting.ts';

export interface GroundOptions extends BentWorldOptions {
  readonly rig?: RigOptions;
}

export interface Ground {
  readonly world: BentWorld;
  readonly authorizationServer: BentAuthorizationServer;
  readonly protectedServer: BentProtectedServer;
  readonly rig: Rig;
  /** The broker after a restart: files and vault stay, memory doesn't. */
  readonly restarted: () => Promise<Rig>;
}

/** `editor` may ask for whatever the user consents to at the issuer. */
export async function ground({ rig: rigOptions = {}, ...options }: GroundOptions = {}): Promise<Ground> {
  const world = await ofTest(openBentWorld(options));
  const { authorizationServer, protectedServer } = world;
  const rig = await rigIn(world, protectedServer.url, rigOptions);
  await rig.allow();
  return {
    world,
    authorizationServer,
    protectedServer,
    rig,
    restarted: () => rigIn(world, protectedServer.url, { ...rigOptions, after: rig }),
  };
}

/** A broker whose requests are for this endpoint. */
export async function rigIn(world: BentWorld, endpoint: string, options: RigOptions = {}): Promise<Rig> {
  // A broker that ends may cut the page off that says so.
  const visit = async (url: string): Promise<void> =>
    void (await followed(world, url).catch(() => undefined));
  return brokerRig({ fetch: world.fetch, endpoint, visit }, options);
}

/** What a browser that follows redirects is shown in the end. */
export async function followed(world: BentWorld, url: string): Promise<{ status: number; text: string }> {
  const response = await world.fetch(url, { headers: { accept: 'text/html' } });
  return { status: response.status, text: await response.text() };
}

/** A token, and another one after an hour. */
export async function askTwice({ ask, clock }: Rig) {
  await ask();
  clock.advance(hour);
  return ask();
}

/** Where our client ID metadata document is, and a ground whose server takes it. */
export const clientMetadataUrl = 'https://keyturn.example/client.json';
export const takesDocuments = {
  // Any port, since tests that run at the same time share the document's own.
  authorization: { clientIdMetadataDocuments: true, redirectMatching: 'anyLoopbackPort' },
  rig: { clientMetadataUrl },
} as const;

/** From now on a server's metadata has these members; undefined leaves one out. */
export function states(
  { bend }: Pick<BentAuthorizationServer, 'bend'> | Pick<BentProtectedServer, 'bend'>,
  members: object,
): void {
  bend.metadata = (document: object) => ({ ...document, ...members });
}

/** The refusal of a request, which must be one of ours. */
export async function refused(promise: Promise<unknown>): Promise<KeyturnError> {
  const error = await refusal(promise);
  if (error instanceof KeyturnError) return error;
  throw error;
}

/** All words of an error that a user or a log may see. */
export function words({ message, hint = '', rule = '' }: KeyturnError): string {
  return [message, hint, rule].join(' ');
}

/** A parameter of an authorization URL; undefined where it was left out. */
export function parameter(page: string | undefined, name: string): string | undefined {
  return new URL(page ?? '').searchParams.get(name) ?? undefined;
}

export function scopeOf(page: string | undefined): string[] | undefined {
  return parameter(page, 'scope')?.split(' ');
}

/** Requests to the token endpoint with this grant. */
export function tokenRequests(
  { server }: Pick<BentAuthorizationServer, 'server'>,
  grantType?: string,
): RecordedRequest[] {
  const all = server.asked('/token', 'POST');
  return grantType === undefined ? all : all.filter(({ form }) => form.get('grant_type') === grantType);
}

/** Milliseconds: then an access token is over. */
export const hour = 3_600_000;

/** Milliseconds: longer than the longest backoff. */
export const aWhile = 301_000;

export const never = { interaction: 'never' } as const;

export const isRefresh = ({ form }: RecordedRequest): boolean => form.get('grant_type') === 'refresh_token';

/** Signed in, with a token that is over, at a server that answers every refresh so. */
export async function refusing(answer: Answer, options?: GroundOptions): Promise<Ground> {
  const all = await ground(options);
  await all.rig.ask();
  all.authorizationServer.bend.tokenRequest = (request) => (isRefresh(request) ? answer : undefined);
  all.rig.clock.advance(hour);
  return all;
}

export const refreshes = ({ authorizationServer }: Ground): number =>
  tokenRequests(authorizationServer, 'refresh_token').length;

/** The credentials that the vault holds: a note of a refresh, and the number of the document, are none. */
export async function keptItem({ vault, signIn }: Rig): Promise<object> {
  const item: object = JSON.parse(await vault.get(signIn().item ?? ''));
  return { ...item, attempt: undefined, beside: undefined };
}

/** Paths of the requests that arrived, in order, without those to the endpoint itself. */
export function metadataPaths({ requests }: { readonly requests: readonly RecordedRequest[] }): string[] {
  return requests.map(({ path }) => path).filter((path) => path.includes('.well-known'));
}

/** Asks the MCP server with a token, as an app does. */
export async function use({ world, protectedServer }: Ground, accessToken: string) {
  const headers = { authorization: `Bearer ${accessToken}` };
  const response = await world.fetch(protectedServer.url, { headers });
  await response.body?.cancel();
  const bearer = bearerChallenge(response.headers.get('www-authenticate') ?? '');
  return { status: response.status, ...(bearer ? { bearer } : {}) };
}

/** The access token is rejected by its MCP server, as an app reports it. */
export function reject({ broker }: Rig, { tokenId }: { readonly tokenId: string }): void {
  broker.rejections.reject({ appId: 'editor', token: { tokenId } });
}

/** The answer to a 403: these scopes are needed. */
export const stepUp = (...scope: string[]) => ({
  challenge: { status: 403, bearer: { error: 'insufficient_scope', scope } } as const,
});

/** Signed in; then the server forgets its clients, and says so on a page, or in a redirect with this error. */
export async function forgotten(
  unknownClients: BentAuthorizationServer['settings']['unknownClients'] = 'page',
): Promise<Ground> {
  const all = await ground({ authorization: { unknownClients } });
  await all.rig.login();
  all.authorizationServer.clients.clear();
  return all;
}

/** The address that a browser would be sent back to, which nobody has visited yet. */
export async function callbackOf({ world }: Pick<Ground, 'world'>, page: string | undefined): Promise<URL> {
  const response = await world.fetch(page ?? '', { redirect: 'manual' });
  await response.body?.cancel();
  return new URL(response.headers.get('location') ?? '');
}

/** Another program listens on the port of this redirect URI until the test ends. */
export async function occupy(redirectUri: string | undefined): Promise<void> {
  const port = Number(new URL(redirectUri ?? '').port);
  const server = createServer();
  onTestFinished(() => void server.close());
  // A test in another process may have it for a moment, and would give it back too early.
  await until(`port ${port} is ours`, async () => {
    try {
      await once(server.listen({ host: '127.0.0.1', port }), 'listening');
      return true;
    } catch {
      return false;
    }
  });
}

export type Entry = Parameters<typeof enterRegistration>[1];

export interface Entered {
  readonly clientId: string;
  readonly redirectUri: string;
}

/** A client that is registered by hand, at the server and with us (`keyturn oauth-client add`). */
export async function enter(
  rig: Rig,
  server: BentAuthorizationServer,
  entry: Partial<Entry> = {},
  client: Partial<BentClient> = {},
): Promise<Entered> {
  const clientId = 'by-hand';
  const redirectUri = await freeRedirect();
  server.addClient({
    clientId,
    redirectUris: [redirectUri],
    ...(entry.clientSecret === undefined ? {} : { secret: entry.clientSecret }),
    ...client,
  });
  await enterRegistration(rig.parts, {
    issuer: server.issuer,
    clientId,
    ...(entry.grantType === undefined || entry.grantType === 'authorization_code' ? { redirectUri } : {}),
    ...entry,
  });
  return { clientId, redirectUri };
}
