/**
 * Headers that an entry of a client's configuration adds to its requests, as mcp-remote takes them.
 *
 * Invariants: none of them says who asks: Authorization is the broker's. They go only to the endpoint. No message
 * holds a header's value, which may be a secret.
 */
import { readFile } from 'node:fs/promises';
import { endpointUrl, isWithin } from '../../client/endpoint-url.ts';
import { KeyturnError, quoted, shellOption, shellWord } from '../../base/errors.ts';
import { systemCode } from '../../base/system-error.ts';
import { isMadeByBridge } from '../../setup/mcp-remote.ts';

/** RFC 9110 §5.1, §5.5. */
const line = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([^\r\n\0]*?)[ \t]*$/;

/** Where a request goes, and what would carry a credential past the broker. */
const reserved = /^(?:(?:proxy-)?authorization|host)$/i;

/** RFC 9110 §5.5: visible ASCII, spaces, tabs, and bytes above it. */
const fieldValue = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

interface HeaderOptions {
  readonly header?: readonly string[] | undefined;
  readonly 'header-file'?: readonly string[] | undefined;
}

/** Throws `invalid_request`; `file_unreadable` for a file that can't be read. */
export async function headersFrom(
  { header = [], 'header-file': files = [] }: HeaderOptions,
  url: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ReadonlyMap<string, string>> {
  const lines = [...header, ...(await Promise.all(files.map(linesOf))).flat()];
  return new Map(lines.map((text) => headerIn(text, url, env)));
}

async function linesOf(file: string): Promise<string[]> {
  try {
    const text = await readFile(file, 'utf8');
    return text
      .split(/\r?\n/)
      .map((each) => each.trim())
      .filter((each) => each !== '' && !each.startsWith('#'));
  } catch (error) {
    throw new KeyturnError(
      'file_unreadable',
      `The header file ${quoted(file)} can't be read (${systemCode(error)}).`,
      { hint: 'Check its path and its mode, and restart this server in your client.' },
    );
  }
}

function headerIn(text: string, url: string, env: NodeJS.ProcessEnv): [name: string, value: string] {
  const [, name, value = ''] = line.exec(text) ?? [];
  if (name === undefined) throw notAHeader('A header is written "NAME: VALUE".');
  if (reserved.test(name) || isMadeByBridge(name)) {
    const isCredential = /authorization$/i.test(name);
    throw notAHeader(
      `The header ${quoted(name)} is not for an entry to set.`,
      isCredential
        ? `Leave it out: Keyturn signs in automatically. For a server that takes a key: keyturn api-key set ${shellWord(url)} ${shellOption('header', name)} --api-key-stdin`
        : 'Leave it out: the bridge sets it.',
    );
  }
  const full = filled(value, name, env);
  if (!fieldValue.test(full))
    throw notAHeader(`The header ${quoted(name)} has a character that no header can hold (RFC 9110 §5.5).`);
  return [name, full];
}

/** `${NAME}` from the environment. A missing one is refused: its name in the value's place is never what was meant. */
function filled(value: string, header: string, env: NodeJS.ProcessEnv): string {
  return value.replace(/\$\{([^}]+)\}/g, (_whole, name: string) => {
    const found = env[name];
    if (found !== undefined && !/[\r\n\0]/.test(found)) return found;
    throw notAHeader(
      `The header ${quoted(header)} takes ${quoted(name)} from the environment, which ${found === undefined ? 'is not set' : 'holds a line break'}.`,
    );
  });
}

function notAHeader(problem: string, hint?: string): KeyturnError {
  return new KeyturnError('invalid_request', problem, {
    hint: hint ?? 'Fix the entry in your client’s configuration.',
  });
}

/** `send`, with the headers on each request to the endpoint. What the request says itself counts. */
export function withHeaders(
  send: typeof globalThis.fetch,
  headers: ReadonlyMap<string, string>,
  resource: string,
): typeof globalThis.fetch {
  if (headers.size === 0) return send;
  const endpoint = endpointUrl(resource);
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (!isWithin(endpoint, url)) return send(input, init);
    const all = new Headers(init?.headers);
    for (const [name, value] of headers) if (!all.has(name)) all.set(name, value);
    // A fetch that follows a redirect would carry them to another origin.
    return send(input, { ...init, headers: all, redirect: init?.redirect === 'error' ? 'error' : 'manual' });
  };
}
