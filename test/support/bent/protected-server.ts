/**
 * A small, right MCP server (RFC 9728, RFC 6750) whose every answer a test can bend.
 *
 * Invariant: a request passes only with a valid bearer token of its authorization servers, for its resource and scopes.
 */
import type { BentAuthorizationServer, IssuedToken } from './authorization-server.ts';
import { type Answer, type BentServer, json, openBentServer, type RecordedRequest } from './server.ts';

/** Where the metadata is: RFC 9728 §3.1 with or without the endpoint's path, or where only the header leads. */
export type ResourceMetadataPlace = 'path' | 'root' | 'elsewhere';

/** Another server that is right too. Any of them may be changed at any time. */
const defaults = {
  /** Live: issuers of the metadata, and whose tokens are taken. */
  authorizationServers: [] as readonly BentAuthorizationServer[],
  /** Where the metadata is served; the other places answer 404. Empty: nowhere, as in the earlier revision. */
  metadataAt: ['path'] as readonly ResourceMetadataPlace[],
  /** What the challenge names as `resource_metadata`; undefined leaves it out. By default the first of `metadataAt`. */
  metadataUrl: undefined as string | undefined,
  /** The `resource` of the metadata, and the audience that is asked of tokens. By default the endpoint. */
  resource: '',
  scopesSupported: undefined as readonly string[] | undefined,
  /** What every request needs. */
  scopes: ['read'] as readonly string[],
  /** `scope` in the challenge of a 401: the scopes needed (true) or none. */
  scopeInChallenge: true,
  /** Answers 200 to everybody. */
  open: false,
  /** What the path with the other end (with a slash, or without) answers: a redirect to the endpoint; undefined: 404. */
  otherEnd: undefined as 301 | 302 | 307 | 308 | undefined,
};

/** What a request gets. `error` and `scope` become parameters of the challenge. */
export interface Verdict {
  readonly status: number;
  readonly error?: string;
  readonly scope?: string;
  /** Of a 200: whose token it was. */
  readonly token?: IssuedToken;
}

/** Parameters of a Bearer challenge, in their order. */
export type Challenge = Readonly<Record<string, string>>;

export interface ProtectedBends {
  /** The metadata document; other answers than a document are routes (`server.on`). */
  metadata?: ((document: Readonly<Record<string, unknown>>, request: RecordedRequest) => unknown) | undefined;
  /** Which scopes this request needs. */
  neededScopes?: ((request: RecordedRequest) => readonly string[]) | undefined;
  /** Another verdict than the right one. */
  verdict?: ((verdict: Verdict, request: RecordedRequest) => Verdict) | undefined;
  /** Other parameters; or the whole header as text, several headers as a list; undefined sends none. */
  challenge?:
    | ((challenge: Challenge, verdict: Verdict) => Challenge | string | readonly string[] | undefined)
    | undefined;
  /** Anything at all in place of the answer: a redirect, markup, nothing. */
  answer?: ((answer: Answer, verdict: Verdict, request: RecordedRequest) => Answer) | undefined;
}

export interface BentProtectedServerOptions extends Partial<typeof defaults> {
  /** The path of the endpoint; `/mcp` unless told otherwise. `/` is one too. */
  readonly path?: string;
  readonly plain?: boolean;
  /** Serves on this one, which the caller closes: the same origin as an authorization server, say. */
  readonly server?: BentServer;
}

export async function openBentProtectedServer(options: BentProtectedServerOptions = {}) {
  const { path = '/mcp', plain = false, server: given, ...settings } = options;
  const server = given ?? (await openBentServer({ plain }));
  const url = `${server.base}${path === '/' ? '' : path}`;
  const paths = metadataPaths(path);
  const metadataUrls = {
    path: server.base + paths.path,
    root: server.base + paths.root,
    elsewhere: server.base + paths.elsewhere,
  };
  const [first] = settings.metadataAt ?? defaults.metadataAt;
  const parts = {
    settings: { ...defaults, metadataUrl: first && metadataUrls[first], resource: url, ...settings },
    bend: {} as ProtectedBends,
    /** Requests to the endpoint, in their order, as they were judged. Requests elsewhere are in `server.requests`. */
    visits: [] as { method: string; authorization: string | undefined; query: string; status: number }[],
    next: undefined as Verdict | undefined,
    always: undefined as (() => Verdict) | undefined,
  };
  const document = (): Record<string, unknown> => metadataDocument(parts.settings);
  for (const place of new Set(Object.values(paths))) {
    server.on('GET', place, (request) => {
      if (!parts.settings.metadataAt.some((one) => paths[one] === place)) return undefined;
      return json(parts.bend.metadata ? parts.bend.metadata(document(), request) : document());
    });
  }
  server.on('*', path, (request) => visit(parts, request));
  const otherPath = path.endsWith('/') ? path.replace(/\/+$/, '') : `${path}/`;
  server.on('*', otherPath, () => {
    const { otherEnd: status } = parts.settings;
    return status === undefined ? undefined : { status, headers: { location: path } };
  });
  return {
    server,
    /** The endpoint that a user types. */
    url,
    settings: parts.settings,
    bend: parts.bend,
    visits: parts.visits,
    metadataUrls,
    /** The document as it is served, unbent: for a test that puts it on another server. */
    document,
    /** The next request to the endpoint gets this verdict, whatever it brings; then it judges again. */
    next: (verdict: Verdict) => void (parts.next = verdict),
    /** Every request gets this verdict from now on: endless 401s or 403s. Undefined: it judges again. */
    always: (verdict: Verdict | (() => Verdict) | undefined) =>
      void (parts.always = typeof verdict === 'object' ? () => verdict : verdict),
    close: async () => (given === undefined ? server.close() : undefined),
  };
}

export type BentProtectedServer = Awaited<ReturnType<typeof openBentProtectedServer>>;

function metadataPaths(path: string): Readonly<Record<ResourceMetadataPlace, string>> {
  const root = '/.well-known/oauth-protected-resource';
  return { path: path === '/' ? root : root + path, root, elsewhere: '/about-this-resource' };
}

function metadataDocument(settings: typeof defaults): Record<string, unknown> {
  return {
    resource: settings.resource,
    authorization_servers: settings.authorizationServers.map(({ issuer }) => issuer),
    ...(settings.scopesSupported === undefined ? {} : { scopes_supported: settings.scopesSupported }),
    bearer_methods_supported: ['header'],
  };
}

interface Parts {
  readonly settings: typeof defaults;
  readonly bend: ProtectedBends;
  readonly visits: BentProtectedServer['visits'];
  next: Verdict | undefined;
  always: (() => Verdict) | undefined;
}

function visit(parts: Parts, request: RecordedRequest): Answer {
  const { bend, visits } = parts;
  const scripted = parts.always?.() ?? parts.next;
  parts.next = undefined;
  const right = judge(parts, request);
  const verdict = scripted ?? bend.verdict?.(right, request) ?? right;
  visits.push({
    method: request.method,
    authorization: request.headers.authorization,
    query: request.url.search,
    status: verdict.status,
  });
  const answer = answerFor(parts, verdict);
  return bend.answer?.(answer, verdict, request) ?? answer;
}

/** RFC 6750 §3.1, and the audience by RFC 8707. */
function judge({ settings, bend }: Parts, request: RecordedRequest): Verdict {
  if (settings.open) return { status: 200 };
  const needed = bend.neededScopes?.(request) ?? settings.scopes;
  const scope = needed.join(' ');
  const challenged = settings.scopeInChallenge && scope !== '' ? { scope } : {};
  if (request.query.has('access_token')) return { status: 400, error: 'invalid_request' };
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (bearer === undefined) return { status: 401, ...challenged };
  const token = settings.authorizationServers
    .map((server) => server.verify(bearer))
    .find((one) => one !== undefined);
  if (!token?.audience.includes(settings.resource))
    return { status: 401, error: 'invalid_token', ...challenged };
  if (needed.some((one) => !token.scopes.includes(one)))
    return { status: 403, error: 'insufficient_scope', scope };
  return { status: 200, token };
}

function answerFor({ settings, bend }: Parts, verdict: Verdict): Answer {
  const { status, token } = verdict;
  if (status === 200) return json({ ok: true, account: token?.subject ?? null, scopes: token?.scopes ?? [] });
  const body = { error: verdict.error ?? 'refused' };
  if (status !== 401 && status !== 403) return json(body, status);
  const challenge: Challenge = {
    ...(verdict.error === undefined ? {} : { error: verdict.error }),
    ...(verdict.scope === undefined ? {} : { scope: verdict.scope }),
    ...(settings.metadataUrl === undefined ? {} : { resource_metadata: settings.metadataUrl }),
  };
  const header = bend.challenge ? bend.challenge(challenge, verdict) : challenge;
  return json(body, status, header === undefined ? {} : { 'www-authenticate': headerOf(header) });
}

function headerOf(header: Challenge | string | readonly string[]): string | readonly string[] {
  if (typeof header === 'string' || isList(header)) return header;
  const parameters = Object.entries(header).map(
    ([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`,
  );
  return ['Bearer', parameters.join(', ')].join(' ').trim();
}

/** `Array.isArray` doesn't narrow a readonly list. */
function isList(header: Challenge | readonly string[]): header is readonly string[] {
  return Array.isArray(header);
}
