/**
 * One proxy's port: who connects, and the way of each request from its check to its answer.
 *
 * Invariants: it listens on 127.0.0.1 and on the port of its record, and on no other. A connection of another user is
 * gone before a byte of it is read. A request passes its checks before its body is read, and only
 * then a token is asked for. Slow and silent connections hold no place for long.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { reasonOf } from '../base/errors.ts';
import { ownerOfPeer } from '../base/system/tcp-owner.ts';
import { systemCode } from '../base/system-error.ts';
import type { MessageId } from '../ipc/wire/json-rpc.ts';
import { bodyOf, messageIdIn, restOf } from './body.ts';
import { refuse } from './http-refusal.ts';
import type { PortState, ProxyEntry } from './messages.ts';
import { readdressed } from './endpoint-events.ts';
import { messageUrl, StreamAddresses } from './message-addresses.ts';
import type { Program, Programs } from './programs.ts';
import { checkRequest, isOfPage } from './request-check.ts';
import { askServer, passOn, type ForwardedRequest } from './upstream.ts';

/** What a connection may cost. Times in milliseconds. */
export interface PortLimits {
  /** For the headers: they come from this very machine. */
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  /** Between looks for those that take longer; Node's own 30 s would hold their places for long. */
  readonly connectionsCheckingInterval: number;
  /** That an idle connection is kept for the next request. */
  readonly keepAliveTimeout: number;
  /** For the rest of a request that was refused. */
  readonly restTimeout: number;
  /** An app has a handful, some of them streams. */
  readonly maxConnections: number;
}

const limits: PortLimits = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 2000,
  keepAliveTimeout: 30_000,
  restTimeout: 5000,
  maxConnections: 128,
};

export class ProxyPort {
  readonly entry: ProxyEntry;
  readonly #programs: Programs;
  readonly #server: Server;
  readonly #restTimeout: number;

  constructor(entry: ProxyEntry, programs: Programs, bounds: Partial<PortLimits> = {}) {
    this.entry = entry;
    this.#programs = programs;
    const { maxConnections, restTimeout, ...times } = { ...limits, ...bounds };
    this.#restTimeout = restTimeout;
    this.#server = createServer({ maxHeaderSize: 16_384, ...times });
    this.#server.maxConnections = maxConnections;
    this.#server.on('connection', (socket) => {
      if (ownerOfPeer(socket) === 'other') socket.destroy();
    });
    this.#server.on('request', (request, response) => void this.#answer(request, response));
    this.#server.on('connect', (_request, socket) => refuseTunnel(socket));
  }

  async open(): Promise<PortState> {
    const { port } = this.entry;
    return new Promise((resolve) => {
      // Never removed: an error while it listens (no more descriptors, say) must not end the process.
      this.#server.on('error', (error) => {
        const isTaken = ['EADDRINUSE', 'EACCES'].includes(systemCode(error));
        resolve(isTaken ? 'portTaken' : 'failed');
      });
      this.#server.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve('open'));
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let id: MessageId | null = null;
    try {
      const query = checkRequest(request, this.entry);
      const body = await bodyOf(request);
      id = messageIdIn(body);
      const program = await this.#programs.at(this.entry);
      await this.#pass(program, { request, response, query, body });
    } catch (error) {
      refuse(response, error, id);
      // A page could send without end, and needs no answer.
      if (!isOfPage(request)) await restOf(request, this.#restTimeout);
      response.end();
    }
  }

  async #pass(program: Program, passed: PassedRequest): Promise<void> {
    const { response, ...asked } = passed;
    const answering = new AbortController();
    const gone = (): void => answering.abort();
    response.once('close', gone);
    const { signal } = answering;
    try {
      const { method } = asked.request;
      const messages = method === 'POST' ? program.messages.at(asked.query) : undefined;
      const leaving = (): void => {
        program.open.add(answering);
      };
      const answer = await askServer(messages ?? program, {
        ...asked,
        ...(messages && { query: '' }),
        signal,
        leaving,
      });
      if (method === 'GET' && isEventStream(answer))
        await this.#passStream(program, answer, { response, signal });
      else await passOn(answer, response, { signal });
    } catch (error) {
      // One that was unpaired is admitted again at its next request.
      if (reasonOf(error) === 'unpaired') await this.#programs.forget(program.appId);
      throw error;
    } finally {
      response.off('close', gone);
      program.open.delete(answering);
    }
  }

  /** A message that the client then sends comes back here, and goes to the address that the server named. */
  async #passStream(
    program: Program,
    answer: Response,
    { response, signal }: { readonly response: ServerResponse; readonly signal: AbortSignal },
  ): Promise<void> {
    const addresses = new StreamAddresses(program.messages);
    const change = (stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
      readdressed(stream, (named) => {
        const resource = messageUrl(named, answer.url);
        const query = addresses.add({ resource, fetch: program.fetchAlsoAt(resource) });
        return `/${this.entry.path}/mcp${query}`;
      });
    try {
      await passOn(answer, response, { signal, change });
    } finally {
      addresses.end();
    }
  }
}

/** The older transport opens with such an answer, and so does the listening stream of the present one. */
function isEventStream({ status, headers }: Response): boolean {
  return (
    status === 200 && headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true
  );
}

/** Node lets go of such a connection: its errors and its end are ours to see to. */
function refuseTunnel(socket: Duplex): void {
  socket.on('error', () => undefined);
  const answer = 'HTTP/1.1 405 Method Not Allowed\r\nAllow: POST, GET, DELETE\r\nConnection: close\r\n\r\n';
  // A client that keeps its own side open would hold its place for good.
  socket.end(answer, () => socket.destroy());
}

interface PassedRequest extends Pick<ForwardedRequest, 'request' | 'query' | 'body'> {
  readonly response: ServerResponse;
}
