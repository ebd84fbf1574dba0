/**
 * `@keyturn/server/express`: a protected server as middleware of Express.
 *
 * Invariant: what `protect` guards it answers or lets pass with an access; it never hands a request on that it did
 * not check. Express itself is not loaded, since the application brings it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { KeyturnError } from '../base/errors.ts';
import { check, incomingOf, prepare, write } from './node-request.ts';
import type { Access } from './resource/access.ts';
import { requireServer } from './resource/base/option.ts';
import type { ProtectedServer } from './resource/protected-server.ts';

export type ExpressMiddleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

const accesses = new WeakMap<IncomingMessage, Access>();

/** What the request may do. Throws internal for a request that `protect` did not let pass. */
export function accessOf(request: IncomingMessage): Access {
  const access = accesses.get(request);
  if (access) return access;
  throw new KeyturnError('internal', 'The request did not pass protect().', {
    hint: 'Put app.use(PATH, protect(server)) before the handler.',
  });
}

/** Serves the metadata document; every other request goes on. For `app.use`, without a path, before anything else. */
export function metadata(server: ProtectedServer): ExpressMiddleware {
  requireServer(server, 'metadata');
  return (request, response, next) => {
    const answer = server.metadata(incomingOf(server, request));
    if (answer) write(answer, response);
    else next();
  };
}

/**
 * Lets a request pass only after all checks; for `app.use(PATH, …)`. `accessOf` then
 * says what it may do, `request.auth` says it to the protocol's SDK, and `request.body` is the parsed body if it was
 * read.
 */
export function protect(server: ProtectedServer): ExpressMiddleware {
  requireServer(server, 'protect');
  return (request, response, next) => {
    void pass(server, request, response, next);
  };
}

/** Never rejects: Express 4 would not notice. */
async function pass(
  server: ProtectedServer,
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
): Promise<void> {
  try {
    const passed = await check(server, request, response);
    if (passed === undefined) return;
    const { access, bytes } = passed;
    accesses.set(request, access);
    prepare(response, passed.headers);
    // `_body` tells Express's own parsers that there is nothing left to read.
    Object.assign(request, { auth: access.authInfo, ...(bytes ? { body: access.body, _body: true } : {}) });
  } catch (error) {
    next(error);
    return;
  }
  next();
}
