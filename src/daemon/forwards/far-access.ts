/**
 * What an app elsewhere may ask the broker: tokens of the named servers, and what belongs to them.
 *
 * Invariants: a method that isn't listed here is refused, so a method that is added to the wire isn't served far away by
 * itself. No API key leaves this machine. After the forward's time nothing is answered.
 */
import * as z from 'zod';
import { detailsOf, KeyturnError, quoted } from '../../base/errors.ts';
import type { ServerDeps } from '../../ipc/server/server.ts';
import { resourceCovers } from '../../oauth/base/resource.ts';

export interface FarAccess {
  readonly label: string;
  /** In canonical spelling. */
  readonly endpoints: readonly string[];
  /** The canonical spelling of a resource. Throws `invalid_resource`, `insecure_url`. */
  readonly canonical: (resource: string) => string;
  readonly isOver: () => boolean;
  /** Tokens that this forward gave out, and their ids: only these can be rejected through it. */
  readonly given: Set<string>;
}

const asked = z.looseObject({ resource: z.string(), kinds: z.array(z.string()).optional() });
const rejected = z.looseObject({ tokenId: z.string().optional(), access_token: z.string().optional() });
const handedOut = z.looseObject({ tokenId: z.string(), access_token: z.string() });
const proofAsked = z.looseObject({ url: z.string() });

/** What the params of each method become. Params that don't fit are left to the method's own schema, which refuses them. */
const farMethods: Readonly<Record<string, (access: FarAccess, params: unknown) => unknown>> = {
  'token.get': (access, params) => {
    const { data } = asked.safeParse(params);
    if (!data) return params;
    requireNamed(access, data.resource);
    const { kinds = ['token'] } = data;
    if (!kinds.includes('token')) throw keysStay();
    return { ...data, kinds: ['token'] };
  },
  'token.prove': (access, params) => {
    const { data } = proofAsked.safeParse(params);
    if (data && !access.endpoints.some((endpoint) => resourceCovers(endpoint, data.url)))
      throw notNamed(access, data.url);
    return params;
  },
  'token.reject': (access, params) => {
    const { data } = rejected.safeParse(params);
    if (data && !access.given.has(data.tokenId ?? data.access_token ?? '')) throw notGiven(access);
    return params;
  },
  'permission.release': (access, params) => {
    const { data } = asked.safeParse(params);
    if (data) requireNamed(access, data.resource);
    return params;
  },
};

/** The dispatch of a forward's socket, before that of the home's own. Throws `not_permitted`. */
export function farDispatch(access: FarAccess, dispatch: ServerDeps['dispatch']): ServerDeps['dispatch'] {
  return async (caller, method, params) => {
    if (access.isOver()) throw over(access);
    const narrowed = Object.hasOwn(farMethods, method) ? farMethods[method] : undefined;
    if (!narrowed) throw notFar(method);
    const farParams = narrowed(access, params);
    const answer = await heardFar(() => dispatch(caller, method, farParams));
    const { data } = handedOut.safeParse(answer);
    if (data) access.given.add(data.tokenId).add(data.access_token);
    // The user may have taken longer to answer than the forward was open.
    if (access.isOver()) throw over(access);
    return answer;
  };
}

/** A hint that names a command or a window is for the machine of the broker. */
async function heardFar(answer: () => unknown): Promise<unknown> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof KeyturnError) || !/keyturn [a-z]|Keyturn/.test(error.hint ?? '')) throw error;
    const hint = `On the machine where the broker runs: ${error.hint}`;
    throw new KeyturnError(error.reason, error.message, { ...detailsOf(error), hint, cause: error });
  }
}

function requireNamed(access: FarAccess, resource: string): void {
  if (!access.endpoints.includes(access.canonical(resource))) throw notNamed(access, resource);
}

function notNamed({ label, endpoints }: FarAccess, url: string): KeyturnError {
  return new KeyturnError('not_permitted', `The forward ${quoted(label)} is not for ${quoted(url)}.`, {
    rule: 'A forward serves the servers that were named when it was opened, and no other',
    hint: `It is for ${endpoints.join(', ')}. To name more, close it on the broker’s machine and open it again.`,
  });
}

function notGiven({ label }: FarAccess): KeyturnError {
  return new KeyturnError('not_permitted', `The forward ${quoted(label)} did not give out this token.`, {
    rule: 'A forward serves the servers that were named when it was opened, and no other',
    hint: 'Ask for a new token through this forward.',
  });
}

function notFar(method: string): KeyturnError {
  return new KeyturnError('not_permitted', `${method} is not served through a forward.`, {
    rule: 'A forward serves tokens of the named servers; everything else stays on the machine of the broker',
    hint: 'Use the keyturn command on the machine where the broker runs.',
  });
}

function keysStay(): KeyturnError {
  return new KeyturnError('not_permitted', 'An API key is not handed out through a forward.', {
    rule: 'A forward serves tokens, which end by themselves; an API key would stay on the other machine',
    hint: 'Use this server from the machine where the broker runs.',
  });
}

function over({ label }: FarAccess): KeyturnError {
  return new KeyturnError('not_permitted', `The forward ${quoted(label)} has ended.`, {
    hint: 'Open it again on the machine where the broker runs: keyturn forward open',
  });
}
