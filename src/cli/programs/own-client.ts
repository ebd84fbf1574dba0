/**
 * A sign-in with a client that the person registered by hand: entered, and signed in with, by one command.
 *
 * Invariant: of the rules that a provider may need waived, only two are waived here, for this server alone, and each is
 * said: metadata that is silent about PKCE, which is used all the same, and no resource parameter, if the user named the
 * scopes: else the server would choose what the token is for. A secret goes only to the issuer that the user named.
 */
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { say } from '../terminal/output.ts';

export interface OwnClient {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
}

interface Target {
  readonly resource: string;
  readonly issuer?: string;
  readonly scope?: string;
}

/** Enters the client at the issuer where a sign-in would go. */
export async function enterClient(target: Target, { clientId, clientSecret }: OwnClient): Promise<void> {
  const { resource, issuer: named } = target;
  const asked = { resource, ...(named === undefined ? {} : { issuer: named }) };
  const { issuer } = await waiving(target, () => ask('login.issuer', asked));
  if (clientSecret !== undefined && named === undefined)
    throw new KeyturnError('invalid_request', `The secret would go to ${quoted(issuer)}.`, {
      hint: `If you registered the client there, run the command again with --issuer ${shellWord(issuer)}`,
    });
  const { registrations } = await ask('registration.list', {});
  const isEntered = registrations.some((one) => one.issuer === issuer && one.clientId === clientId);
  // To enter it again without its secret would lose that.
  if (isEntered && clientSecret === undefined) return;
  const { redirectUri } = await ask('registration.set', {
    issuer,
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
  });
  say(`keyturn: at ${quoted(issuer)} this client needs the redirect URI ${redirectUri ?? ''}`);
}

const waivable = {
  'no-pkce-metadata':
    'The metadata of its authorization server says nothing of PKCE. Keyturn uses it all the same.',
  'no-resource': 'Its authorization server takes no `resource` parameter. Keyturn leaves it out there.',
} as const;

/** Does `work`, and once more after each rule that its refusal names a waiver for. */
export async function waiving<T>({ resource, scope }: Target, work: () => Promise<T>): Promise<T> {
  const names = ['no-pkce-metadata', ...(scope === undefined ? [] : (['no-resource'] as const))] as const;
  for (const left = new Set(names); ;) {
    try {
      return await work();
    } catch (error) {
      const name = [...left].find((one) => error instanceof KeyturnError && error.waiver === one);
      if (name === undefined) throw error;
      left.delete(name);
      say(`keyturn: ${waivable[name]} (keyturn override takes that back.)`);
      await ask('override.set', { server: resource, name, on: true });
    }
  }
}
