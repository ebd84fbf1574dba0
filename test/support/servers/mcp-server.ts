/**
 * A real MCP server on the loopback address: streamable HTTP over HTTPS, with bearer tokens, and a notebook for each
 * account unless a test protects something else.
 *
 * Invariant: a token is checked before anything of the request is read. Without a tool's scopes the client gets an HTTP
 * status and a challenge, not an error in a tool's result. A tool sees only the notebook of the token's subject.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express, { type NextFunction, type Request, type Response } from 'express';
import { z } from 'zod';
import { metadata, protect } from '../../../src/server/express.ts';
import { protectedServer, type ProtectedServerOptions } from '../../../src/server/index.ts';
import type { Certificates } from '../../../src/serve/certificate.ts';
import { listenOnLoopback } from '../../../src/serve/tls-listener.ts';

/** Answers requests that passed the check of their token. */
export interface ProtectedService {
  /** Bytes of the largest message that it takes. */
  readonly limit: number;
  answer(request: Request, response: Response): Promise<void>;
}

/** The least that any request needs; `scopes_supported` and the first challenge say the same. */
export const basicScopes = ['notes:read'] as const;

const endpointPath = '/mcp';

/** What the endpoint answered; metadata requests aren't counted. */
const noRequests = { requests: 0, unauthorized: 0, insufficientScope: 0, served: 0 };

/** Everybody here has one address, and many tests end tokens on purpose. */
const manyFailures = { requests: 100_000, seconds: 60 };

export async function startProtectedServer(
  certificates: Certificates,
  {
    service = notebookService(),
    ...options
  }: Pick<ProtectedServerOptions, 'authorizationServers' | 'tokens' | 'fetch' | 'dpop'> & {
    readonly service?: ProtectedService | undefined;
  },
) {
  let listener = await listenOnLoopback(certificates, 0);
  const { port } = listener;
  const resource = `${listener.origin}${endpointPath}`;
  const counts = { ...noRequests };
  const server = protectedServer({
    resource,
    name: 'Keyturn demo notebook',
    scopes: { required: basicScopes },
    strategy: 'minimal',
    operations: { tools: Object.fromEntries(toolScopes) },
    maxBodyBytes: service.limit,
    rateLimit: { failedTokens: manyFailures },
    ...options,
  });

  const app = express();
  app.disable('x-powered-by');
  app.use(metadata(server));
  app.use(endpointPath, countAnswers(counts), protect(server));
  app.all(endpointPath, (request, response) => service.answer(request, response));
  app.use(refuseMalformed);
  listener.serve(app);
  return {
    /** The endpoint, which is its `resource` as well. */
    url: resource,
    resource,
    metadataUrl: server.metadataUrl,
    /** Live: read it again for newer numbers. */
    counts,
    /** Ends every connection, waits for `meanwhile`, and listens at the same port again. */
    async restart(meanwhile?: () => Promise<void>) {
      await listener.close();
      await meanwhile?.();
      listener = await listenOnLoopback(certificates, port);
      listener.serve(app);
    },
    close: async () => listener.close(),
  };
}

export type ProtectedServer = Awaited<ReturnType<typeof startProtectedServer>>;

/** Notes by subject. Lives as long as the server. */
type Notebooks = Map<string, string[]>;

/** The scopes that each tool needs. */
const toolScopes: ReadonlyMap<string, readonly string[]> = new Map([
  ['list-notes', ['notes:read']],
  ['add-note', ['notes:write']],
]);

/** All scopes of the tools, for an authorization server's list. */
export const notebookScopes: readonly string[] = [...new Set([...toolScopes.values()].flat())];

/** Longest note, in characters: this is a demo, not a store. */
const maxNoteLength = 1000;

const subject = z.object({ sub: z.string() });

/** `list-notes` answers JSON text: `{account, notes}`; `add-note` the same after adding. */
function notebookServer(notebooks: Notebooks): McpServer {
  const server = new McpServer({ name: 'keyturn-demo-notebook', version: '1.0.0' });
  server.registerTool('list-notes', { description: 'Lists the notes of the signed-in account.' }, (extra) => {
    const account = accountOf(extra.authInfo);
    return text({ account, notes: notebooks.get(account) ?? [] });
  });
  server.registerTool(
    'add-note',
    {
      description: 'Adds a note for the signed-in account.',
      inputSchema: { note: z.string().max(maxNoteLength) },
    },
    ({ note }, extra) => {
      const account = accountOf(extra.authInfo);
      const notes = [...(notebooks.get(account) ?? []), note];
      notebooks.set(account, notes);
      return text({ account, notes });
    },
  );
  return server;
}

function accountOf(auth: AuthInfo | undefined): string {
  return subject.parse(auth?.extra).sub;
}

function text(value: unknown) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }] };
}

/** Bytes: a note is short. */
const maxNoteMessage = 100 * 1024;

function notebookService(): ProtectedService {
  const notebooks: Notebooks = new Map();
  return {
    limit: maxNoteMessage,
    async answer(request, response) {
      if (request.method === 'POST') return answerMessage(notebooks, request, response);
      // Stateless: there is no stream to listen to and no session to end.
      response.status(405).set('allow', 'POST').json({ error: 'method_not_allowed' });
    },
  };
}

function countAnswers(counts: typeof noRequests) {
  return (_request: Request, response: Response, next: NextFunction): void => {
    counts.requests += 1;
    response.once('finish', () => {
      if (response.statusCode === 401) counts.unauthorized += 1;
      else if (response.statusCode === 403) counts.insufficientScope += 1;
      else if (response.statusCode < 300) counts.served += 1;
    });
    next();
  };
}

/** One server and one transport for each request: nothing of one caller is left for the next. */
async function answerMessage(notebooks: Notebooks, request: Request, response: Response): Promise<void> {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  const server = notebookServer(notebooks);
  response.once('close', () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
}

/** Four parameters make it an error handler; without one, Express prints the error to the terminal. */
function refuseMalformed(error: unknown, _request: Request, response: Response, next: NextFunction): void {
  if (response.headersSent) {
    next(error);
    return;
  }
  response.status(400).json({ error: 'invalid_request' });
}
