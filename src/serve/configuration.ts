/**
 * The configuration file of `keyturn dev-server`.
 *
 * Invariant: a file with an entry that can't be right starts nothing; the error names the entry.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { KeyturnError, quoted } from '../base/errors.ts';
import { systemCode } from '../base/system-error.ts';

const port = z.int().min(0).max(65_535);

const schema = z.strictObject({
  /** Keeps certificate, clients, sign-ins and keys; without it all of them end with the command. */
  folder: z.string().min(1).exactOptional(),
  authorizationServer: z
    .strictObject({
      port: port.default(4711),
      /** Who may sign in, without a password. */
      accounts: z.array(z.string().min(1)).min(1).default(['alice', 'bob']),
      registration: z.enum(['open', 'off']).default('open'),
      clientDocuments: z.enum(['any', 'none']).default('any'),
      clients: z
        .array(
          z.strictObject({
            clientId: z.string().min(1),
            name: z.string().min(1).exactOptional(),
            redirectUris: z.array(z.string()).min(1),
            clientSecret: z.string().min(32, 'a secret has at least 32 characters').exactOptional(),
          }),
        )
        .default([]),
      accessTokenSeconds: z.int().min(1).max(3600).default(300),
    })
    .prefault({}),
  protectedServer: z
    .strictObject({
      port: port.default(4712),
      path: z
        .string()
        .regex(/^(\/[\w.~-]+)+$/, 'a path begins with / and has plain words')
        .default('/mcp'),
      /** `required`: only tokens that are bound to a DPoP key, with a nonce of the server in each proof (RFC 9449). */
      dpop: z.enum(['taken', 'required']).default('taken'),
    })
    .prefault({}),
  /** Third-party mode: people sign in at the service behind the protected server, where the notes lie. */
  upstream: z.strictObject({ port: port.default(4713) }).exactOptional(),
});

export type ServeConfiguration = z.infer<typeof schema>;

/** Throws `invalid_request` with the entry's name. */
export function parseConfiguration(value: unknown, source: string): ServeConfiguration {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const entry = issue?.path.join('.') ?? '';
  throw new KeyturnError(
    'invalid_request',
    `${source} can't be used${entry && `: ${quoted(entry)}`}: ${issue?.message ?? 'it has another form'}.`,
    { hint: 'docs/servers/dev-server.md lists the entries.' },
  );
}

/** Reads the file; a relative `folder` in it is beside it. */
export function readConfiguration(file: string): ServeConfiguration {
  const source = `The configuration ${quoted(file)}`;
  const configuration = parseConfiguration(jsonOf(textOf(file), source), source);
  if (configuration.folder === undefined) return configuration;
  return { ...configuration, folder: path.resolve(path.dirname(file), configuration.folder) };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new KeyturnError('file_unreadable', `${quoted(file)} can't be read (${systemCode(cause)}).`, {
      hint: 'Look at the path and the permissions of the file.',
      cause,
    });
  }
}

function jsonOf(text: string, source: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new KeyturnError('invalid_request', `${source} is no JSON.`, {
      hint: 'docs/servers/dev-server.md has an example.',
      cause,
    });
  }
}
