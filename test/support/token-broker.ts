/** A real broker socket whose answers about tokens follow a script, and what it was asked. */
import { connect } from '../../src/client/connect.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import type { TokenProveParams } from '../../src/ipc/wire/token-messages.ts';
import type { Connection } from '../../src/client/connection.ts';
import { startRig } from '../ipc/rig.ts';
import { wireToken } from '../ipc/wire-token.ts';
import { ofTest } from './lasting.ts';

export type Dispatch = NonNullable<NonNullable<Parameters<typeof startRig>[0]>['dispatch']>;

export interface Call {
  readonly method: string;
  readonly params: unknown;
}

export interface TokenScript {
  /** Gets each call. */
  readonly heard?: (call: Call) => void;
  /** What the first token, the second and so on have beside the usual members, or in their place. */
  readonly tokens?: readonly object[];
  /** What `token.reject` answers. */
  readonly verdict?: object;
}

/** Answers with `secret-1`; with the next token after each refusal and each step-up. */
export function tokenDispatch(resource: string, script: TokenScript = {}): Dispatch {
  const { heard = () => undefined, tokens = [], verdict = { rejected: true } } = script;
  let current = 1;
  return async (_caller, method, params): Promise<object> => {
    heard({ method, params });
    if (method === 'token.reject' || isStepUp(params)) current += 1;
    if (method === 'token.reject') return verdict;
    if (method === 'token.prove') return prove(params, `t${current}`);
    const named = { access_token: `secret-${current}`, tokenId: `t${current}` };
    return wireToken(resource, { ...named, ...tokens[current - 1] });
  };
}

/** Names the request, so that a test can see which proof came with which. The broker has the newest token only. */
function prove(params: unknown, newest: string): object {
  const { tokenId, ...request } = params as TokenProveParams;
  if (tokenId !== newest) throw new KeyturnError('not_found', 'no such token', {});
  return { proof: `${Buffer.from(JSON.stringify(request)).toString('base64url')}.claims.signature` };
}

function isStepUp(params: unknown): boolean {
  const challenge = typeof params === 'object' && params && 'challenge' in params ? params.challenge : null;
  return (
    typeof challenge === 'object' && challenge !== null && 'status' in challenge && challenge.status === 403
  );
}

/** Starts the broker; each call connects one program to it. Everything ends with the test. */
export async function startTokenBroker(dispatch: Dispatch): Promise<() => Promise<Connection>> {
  const rig = await startRig({ dispatch });
  const key = rig.enrol();
  return async () => {
    const connection = await ofTest(connect({ key, paths: rig.paths }));
    return connection;
  };
}
