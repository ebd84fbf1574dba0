/**
 * A sign-in with a client that you registered by hand: enters the client, sets the exceptions that its provider
 * needs, and signs in. The command and the app do it alike.
 *
 * Invariant: only two exceptions are set here, for this server alone, after `says` was told of it: for metadata that is
 * silent about PKCE, which is used all the same, and for the resource parameter, if the user named the scopes: else the
 * server would choose what the token is for. A secret goes only to an issuer that the user named or was shown.
 */
import { KeyturnError, quoted, shellWord } from '../base/errors.ts';
import type { z } from 'zod';
import type { methods, ParamsOf } from '../ipc/protocol/methods.ts';

export interface OwnClient {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
}

const settable = ['no-pkce-metadata', 'no-resource'] as const;
export type SettableException = (typeof settable)[number];

interface Says {
  /** What to register for this client at its issuer, if it was entered now. */
  readonly redirect: (issuer: string, redirectUri: string) => void;
  readonly exception: (name: SettableException) => void;
}

type Method = 'signIn.issuer' | 'oauthClient.list' | 'oauthClient.add' | 'exception.set';

export type AskOwnClient = <M extends Method>(
  method: M,
  params: ParamsOf<M>,
) => Promise<z.output<(typeof methods)[M]['result']>>;

interface OwnClientParts {
  readonly ask: AskOwnClient;
  readonly says?: Says;
}

interface Target {
  readonly resource: string;
  readonly issuer?: string | undefined;
  readonly scope?: string | undefined;
}

/** `start` signs in; it is called again after each exception that was set. */
export async function signInWith<T>(
  parts: OwnClientParts,
  target: Target,
  client: OwnClient,
  start: () => Promise<T>,
): Promise<T> {
  await enterClient(parts, target, client);
  return withExceptions(parts, target, start);
}

/** Enters the client at the issuer where a sign-in would go. */
async function enterClient(
  parts: OwnClientParts,
  target: Target,
  { clientId, clientSecret }: OwnClient,
): Promise<void> {
  const { ask, says } = parts;
  const { resource, issuer: named } = target;
  const { issuer, wasShown } = await withExceptions(parts, target, () =>
    ask('signIn.issuer', { resource, issuer: named }),
  );
  if (clientSecret !== undefined && named === undefined && !wasShown)
    throw new KeyturnError('invalid_request', `The secret would go to ${quoted(issuer)}.`, {
      hint: `If you registered the client there, do the same again; or name it with --issuer ${shellWord(issuer)}`,
    });
  const { oauthClients: registrations } = await ask('oauthClient.list', {});
  const isEntered = registrations.some((one) => one.issuer === issuer && one.clientId === clientId);
  // To enter it again without its secret would lose that.
  if (isEntered && clientSecret === undefined) return;
  const { redirectUri } = await ask('oauthClient.add', { issuer, clientId, clientSecret });
  says?.redirect(issuer, redirectUri ?? '');
}

/** Does `work`, and once more after each exception that its refusal names. */
async function withExceptions<T>(
  { ask, says }: OwnClientParts,
  { resource, scope }: Target,
  work: () => Promise<T>,
): Promise<T> {
  for (const left = new Set(settable.filter((one) => one !== 'no-resource' || scope !== undefined)); ;) {
    try {
      return await work();
    } catch (error) {
      const name = [...left].find((one) => error instanceof KeyturnError && error.exception === one);
      if (name === undefined) throw error;
      left.delete(name);
      says?.exception(name);
      await ask('exception.set', { server: resource, name, on: true });
    }
  }
}
