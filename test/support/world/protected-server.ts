/**
 * A real MCP server on the loopback address: streamable HTTP over HTTPS, with bearer tokens.
 *
 * Invariant: a token is checked before anything of the request is read, and a tool runs only with the
 * scopes it needs; without them the client gets an HTTP status and a challenge, not an error in a tool's result.
 */
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express, { type NextFunction, type Request, type Response } from 'express';
import { metadata, protect } from '../../../src/server/express.ts';
import { protectedServer } from '../../../src/server/index.ts';
import type { ProtectedServerOptions as Settings, TokenKind } from '../../../src/server/index.ts';
import type { Certificates } from '../../../src/serve/certificate.ts';
import { notebookServer, type Notebooks, toolScopes } from './notebook.ts';
import { listenOnLoopback } from '../../../src/serve/tls-listener.ts';

export interface ProtectedServerOptions {
  readonly certificates: Certificates;
  readonly issuer: string;
  readonly tokens: TokenKind;
  /** Reaches the issuer. */
  readonly fetch: typeof globalThis.fetch;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** What is protected; notebooks unless told otherwise. */
  readonly service?: ProtectedService;
  readonly dpop?: Settings['dpop'];
}

/** Answers requests that passed the check of their token. */
export interface ProtectedService {
  /** Bytes of the largest message that it takes. */
  readonly limit: number;
  answer(request: Request, response: Response): Promise<void>;
}

/** What the endpoint answered; metadata requests aren't counted. */
export interface RequestCounts {
  requests: number;
  /** 401 */
  unauthorized: number;
  /** 403 */
  insufficientScope: number;
  /** 2xx */
  served: number;
}

/** The least that any request needs; `scopes_supported` and the first challenge say the same. */
export const basicScopes = ['notes:read'] as const;

const endpointPath = '/mcp';

/** Everybody here has one address, and many tests end tokens on purpose. */
const manyFailures = { requests: 100_000, seconds: 60 };

export async function startProtectedServer(options: ProtectedServerOptions) {
  let listener = await listenOnLoopback(options.certificates, options.port ?? 0);
  const { port } = listener;
  const resource = `${listener.origin}${endpointPath}`;
  const counts: RequestCounts = { requests: 0, unauthorized: 0, insufficientScope: 0, served: 0 };
  const service = options.service ?? notebookService();
  const server = protectedServer({
    resource,
    name: 'Keyturn demo notebook',
    authorizationServers: [options.issuer],
    tokens: options.tokens,
    fetch: options.fetch,
    scopes: { required: basicScopes },
    strategy: 'minimal',
    operations: { tools: Object.fromEntries(toolScopes) },
    maxBodyBytes: service.limit,
    rateLimit: { failedTokens: manyFailures },
    ...(options.dpop ? { dpop: options.dpop } : {}),
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
      listener = await listenOnLoopback(options.certificates, port);
      listener.serve(app);
    },
    close: async () => listener.close(),
  };
}

export type ProtectedServer = Awaited<ReturnType<typeof startProtectedServer>>;

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

function countAnswers(counts: RequestCounts) {
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
