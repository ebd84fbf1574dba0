/**
 * The service behind the protected server in the third-party mode of `keyturn dev-server`: an API with the notes, and the
 * authorization server that its people sign in at.
 *
 * Invariant: it knows one client, the authorization server of ours, and takes its own tokens only. It is reached as
 * `localhost`, since a browser sends a cookie of 127.0.0.1 to every port there.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { authorizationServer, developmentLogin } from '../server/authorization/index.ts';
import type { AuthorizationEvent, Storage } from '../server/authorization/index.ts';
import { jwt, protectedServer } from '../server/index.ts';
import { fetchListener } from '../server/node.ts';
import { keptNotes, maxNoteLength, type Notes } from './notes.ts';
import type { TlsListener } from './tls-listener.ts';

/** The scopes of the API, by those of the notebook. */
export const upstreamScopes = { 'notes:read': ['read'], 'notes:write': ['write'] } as const;

export interface UpstreamParts {
  readonly accounts: readonly string[];
  readonly storage: Storage;
  /** Where our authorization server takes its answers. */
  readonly redirectUri: string;
  /** Trusts the servers of this trial. */
  readonly fetch: typeof globalThis.fetch;
  readonly onEvent: (event: AuthorizationEvent) => void;
}

export interface ServedUpstream {
  readonly issuer: string;
  /** The API. */
  readonly resource: string;
  readonly clientId: string;
  readonly clientSecret: string;
  close(): Promise<void>;
}

/** Serves both at the listener. */
export async function serveUpstream(
  listener: TlsListener,
  { accounts, storage, redirectUri, fetch, onEvent }: UpstreamParts,
): Promise<ServedUpstream> {
  const origin = `https://localhost:${listener.port}`;
  const [issuer, resource] = [`${origin}/id`, `${origin}/api`];
  const client = { clientId: 'keyturn-serve', clientSecret: randomBytes(32).toString('base64url') };
  const login = await authorizationServer({
    issuer,
    resources: [
      {
        resource,
        name: 'the service behind the notebook',
        scopes: { read: 'Read what you keep there', write: 'Change what you keep there' },
      },
    ],
    accounts: developmentLogin(accounts),
    storage,
    clients: [{ ...client, name: 'The notebook', redirectUris: [redirectUri] }],
    clientDocuments: 'none',
    onEvent,
  });
  const guard = protectedServer({
    resource,
    authorizationServers: [issuer],
    tokens: jwt({ clockToleranceSeconds: 0 }),
    fetch,
    scopes: { required: ['read'] },
    routes: [{ method: 'POST', path: '/api', scopes: ['write'] }],
  });
  const notesOf = keptNotes();
  const api = fetchListener(guard, async (request, { claims }) =>
    answer(request, notesOf(z.string().parse(claims['sub']))),
  );
  listener.serve((request, response) =>
    (login.serves(request.url ?? '') ? login.handler : api)(request, response),
  );
  return { issuer, resource, ...client, close: async () => login.close() };
}

const newNote = z.object({ note: z.string().max(maxNoteLength) });

const answerSchema = z.object({ notes: z.array(z.string()) });

async function answer(request: Request, notes: Notes): Promise<Response> {
  if (request.method !== 'POST') return Response.json({ notes: await notes.list() });
  const { success, data } = newNote.safeParse(await request.json().catch(() => undefined));
  return success
    ? Response.json({ notes: await notes.add(data.note) })
    : Response.json({ error: 'invalid_request' }, { status: 400 });
}

/** The notes of an account as the API has them. `fetch` sends the account's own token of the upstream. */
export function notesAt(resource: string, account: string, fetch: typeof globalThis.fetch): Notes {
  const read = async (init?: RequestInit): Promise<readonly string[]> => {
    const response = await fetch(resource, init);
    return answerSchema.parse(await response.json()).notes;
  };
  return {
    account,
    list: async () => read(),
    add: async (note) =>
      read({
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ note }),
      }),
  };
}
