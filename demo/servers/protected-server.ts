/**
 * A real protected server on the loopback address: streamable HTTP over HTTPS, with bearer tokens.
 *
 * Invariant: a token is checked before anything of the request is read, and a tool runs only with the
 * scopes it needs; without them the client gets an HTTP status and a challenge, not an error in a tool's result.
 */
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express, { type NextFunction, type Request, type Response } from 'express';
import { z } from 'zod';
import type { Certificates } from './certificate.ts';
import { notebookServer, type Notebooks, toolScopes } from './notebook.ts';
import { listenOnLoopback } from './tls-listener.ts';
import type { VerifierFor } from './token-verifier.ts';

export interface ProtectedServerOptions {
  readonly certificates: Certificates;
  readonly issuer: string;
  readonly verifier: VerifierFor;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** What is protected; notebooks unless told otherwise. */
  readonly service?: ProtectedService;
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

export interface ProtectedServer {
  /** The endpoint, which is its `resource` as well. */
  readonly url: string;
  readonly resource: string;
  readonly metadataUrl: string;
  /** Live: read it again for newer numbers. */
  readonly counts: Readonly<RequestCounts>;
  /** Ends every connection, waits for `meanwhile`, and listens at the same port again. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** The least that any request needs; `scopes_supported` and the first challenge say the same. */
export const basicScopes = ['notes:read'] as const;

const endpointPath = '/mcp';

export async function startProtectedServer(options: ProtectedServerOptions): Promise<ProtectedServer> {
  let listener = await listenOnLoopback(options.certificates, options.port ?? 0);
  const { port } = listener;
  const resource = `${listener.origin}${endpointPath}`;
  // RFC 9728 §3.1: the well-known part goes between host and path.
  const metadataPath = `/.well-known/oauth-protected-resource${endpointPath}`;
  const metadataUrl = `${listener.origin}${metadataPath}`;
  const counts: RequestCounts = { requests: 0, unauthorized: 0, insufficientScope: 0, served: 0 };
  const service = options.service ?? notebookService();

  const app = express();
  app.disable('x-powered-by');
  app.get(metadataPath, (_request, response) => {
    response.json({
      resource,
      resource_name: 'Keyturn demo notebook',
      authorization_servers: [options.issuer],
      scopes_supported: basicScopes,
      bearer_methods_supported: ['header'],
    });
  });
  app.use(
    endpointPath,
    countAnswers(counts),
    requireBearerAuth({
      verifier: options.verifier(resource),
      requiredScopes: [...basicScopes],
      resourceMetadataUrl: metadataUrl,
    }),
    express.json({ limit: service.limit }),
    requireToolScopes(metadataUrl),
  );
  app.all(endpointPath, (request, response) => service.answer(request, response));
  app.use(refuseMalformed);
  listener.serve(app);
  return {
    url: resource,
    resource,
    metadataUrl,
    counts,
    async restart(meanwhile) {
      await listener.close();
      await meanwhile?.();
      listener = await listenOnLoopback(options.certificates, port);
      listener.serve(app);
    },
    close: async () => listener.close(),
  };
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

const toolCall = z.object({ method: z.literal('tools/call'), params: z.object({ name: z.string() }) });

/** The tools that a body calls; several, if it is a batch. */
function calledTools(body: unknown): string[] {
  return [body].flat().flatMap((message) => {
    const call = toolCall.safeParse(message);
    return call.success ? [call.data.params.name] : [];
  });
}

/** RFC 6750 §3.1. The challenge names what is needed together with what every request needs. */
function requireToolScopes(metadataUrl: string) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const needed = calledTools(request.body).flatMap((name) => toolScopes.get(name) ?? []);
    if (needed.every((scope) => request.auth?.scopes.includes(scope))) {
      next();
      return;
    }
    const scope = [...new Set([...basicScopes, ...needed])].join(' ');
    const description = 'This tool needs more scopes';
    response
      .status(403)
      .set(
        'www-authenticate',
        `Bearer error="insufficient_scope", error_description="${description}", scope="${scope}", resource_metadata="${metadataUrl}"`,
      )
      .json({ error: 'insufficient_scope', error_description: description });
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
