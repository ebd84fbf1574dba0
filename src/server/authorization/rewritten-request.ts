/**
 * Requests in the forms that clients really send, rewritten to the one that oidc-provider takes: registrations that ask
 * for more than is offered, a `resource` in another spelling or twice, forms as JSON.
 *
 * Invariant: a value is only rewritten to another that means the same here, shortened, filled in by its default, or
 * left out. What can't be read goes on as it came, and the provider refuses it.
 */
import { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { parseJsonObject } from '../../oauth/base/json-object.ts';
import { readBody } from '../node-request.ts';
import type { ResourceOptions } from './options.ts';
import { defaultScopesOf } from './provider-settings.ts';
import { offeredRegistration } from './clients/registration-request.ts';

/** Bytes; the provider takes no more. */
const maxBody = 56 * 1024;

/** The request to hand on, or undefined: its body is too long. */
export async function rewrittenRequest(
  request: IncomingMessage,
  path: string,
  resources: readonly ResourceOptions[],
): Promise<IncomingMessage | undefined> {
  const { method, headers } = request;
  const [place = ''] = path.split('?', 1);
  const isRegistration = /^\/reg(?:\/|$)/.test(place) && (method === 'POST' || method === 'PUT');
  if (!isRegistration && !(method === 'POST' && ['/token', '/token/revocation'].includes(place)))
    return request;
  const bytes = await readBody(request, maxBody);
  if (bytes === undefined) return undefined;
  const text = new TextDecoder().decode(bytes);
  const type = headers['content-type'] ?? '';
  if (isRegistration) {
    const members = parseJsonObject(text);
    return withBody(
      request,
      type,
      members === undefined ? text : JSON.stringify(offeredRegistration(members)),
    );
  }
  const form = formOf(text, type);
  if (form === undefined) return withBody(request, type, text);
  oneSpelling(form, resources);
  if (form.get('grant_type') === 'client_credentials') withScope(form, resources);
  return withBody(request, 'application/x-www-form-urlencoded', form.toString());
}

/** RFC 6749 §3.2 wants a form; some clients send the same as JSON. */
function formOf(text: string, type: string): URLSearchParams | undefined {
  if (!/^application\/json\b/i.test(type)) {
    const isForm = /^application\/x-www-form-urlencoded\b/i.test(type);
    return isForm ? stated(new URLSearchParams(text)) : undefined;
  }
  const members = Object.entries(parseJsonObject(text) ?? {}).filter(([, value]) => value !== null);
  const texts = z.array(z.tuple([z.string(), z.string()])).safeParse(members);
  return texts.success ? stated(new URLSearchParams(texts.data)) : undefined;
}

/** RFC 6749 §3.1, §3.2: a parameter without a value counts as left out; one repeated with the same value as one. */
export function stated(asked: URLSearchParams): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of asked) {
    if (value !== '' && !parameters.has(name, value)) parameters.append(name, value);
  }
  return parameters;
}

/** RFC 8707 §2: the same protected server in another spelling, or named twice. */
export function oneSpelling(parameters: URLSearchParams, resources: readonly ResourceOptions[]): void {
  const asked = parameters.getAll('resource').filter((resource) => resource !== '');
  const known = asked.map(
    (text) => resources.find(({ resource }) => spelled(resource) === spelled(text))?.resource ?? text,
  );
  parameters.delete('resource');
  for (const resource of new Set(known)) parameters.append('resource', resource);
}

/** RFC 6749 §3.3: a request without a scope asks for the default ones of the protected server that it means. */
export function withScope(
  parameters: URLSearchParams,
  resources: readonly ResourceOptions[],
): ResourceOptions | undefined {
  const known = resources.find(({ resource }) => resource === parameters.get('resource')) ?? resources[0];
  if (!parameters.get('scope') && known) parameters.set('scope', defaultScopesOf(known).join(' '));
  return known;
}

/** RFC 3986 §6.2.2, §6.2.3: case, default port, escapes of plain characters; and a slash at the end. */
function spelled(resource: string): string {
  const url = URL.parse(resource);
  if (url === null || /[?#]/.test(resource)) return resource;
  const plain = (escape: string): string => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
  };
  return url.href.replace(/%[0-9a-f]{2}/gi, plain).replace(/\/$/, '');
}

/** The same request of the same connection, with another body. */
function withBody(request: IncomingMessage, type: string, body: string): IncomingMessage {
  const bytes = Buffer.from(body);
  const { method, url, socket, httpVersion, headers } = request;
  const { 'transfer-encoding': _chunked, ...kept } = headers;
  const rewritten = Object.assign(new IncomingMessage(socket), { method, url, httpVersion });
  rewritten.headers = { ...kept, 'content-type': type, 'content-length': String(bytes.byteLength) };
  // Else the end of it would be taken for a client that left, and the connection closed.
  rewritten.complete = true;
  rewritten.push(bytes);
  rewritten.push(null);
  return rewritten;
}
