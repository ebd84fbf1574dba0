/**
 * Several tokens and API keys for one command, which gets all of them at once.
 *
 * Invariant: each token lives long enough when the last one has come. A user may take minutes to answer for one,
 * and the others age meanwhile.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { AppRequest } from './asked.ts';
import type { Credential } from './credential-within.ts';

interface Placed {
  readonly asked: AppRequest;
  /** A token in a file is replaced before it ends. */
  readonly kind?: 'env' | 'file';
}

/** Without a credential: the server wants none. */
export type WithCredential<Request> = Request & { readonly credential: Credential | undefined };

/**
 * In the order of the requests, each with the validity that it names. `now` in milliseconds since 1970. For a token that
 * aged nobody is asked again. Throws what `ask` throws; `token_invalid` where the newest token is too old.
 */
export async function credentialsTogether<Request extends Placed>(
  requests: readonly Request[],
  ask: (asked: AppRequest) => Promise<Credential | undefined>,
  now: () => number = Date.now,
): Promise<WithCredential<Request>[]> {
  const first: WithCredential<Request>[] = [];
  for (const request of requests)
    first.push({ ...request, credential: longEnough(request, await ask(request.asked)) });
  const given: WithCredential<Request>[] = [];
  for (const one of first) {
    const { asked, credential } = one;
    const validity = validityOf(asked);
    const isLongEnough = secondsLeft(credential, now()) >= validity;
    const again = unattended(asked, validity);
    given.push(isLongEnough ? one : { ...one, credential: longEnough(one, await ask(again)) });
  }
  return given;
}

/** The same request, of which nobody is asked. `minimumValidity` in seconds. */
export function unattended({ as, params }: AppRequest, minimumValidity: number): AppRequest {
  return { as, params: { ...params, interaction: 'never', minimumValidity } };
}

/**
 * A key has no end, and some tokens have none that is known. A part of a second counts as a whole one: a token that was
 * just issued is not too old.
 */
function secondsLeft(credential: Credential | undefined, now: number): number {
  if (!credential || 'kind' in credential || credential.expires_at === undefined) return Infinity;
  return Math.ceil(credential.expires_at - now / 1000);
}

const validityOf = ({ params: { minimumValidity = 0 } }: AppRequest): number => minimumValidity;

function longEnough<Got extends Credential | undefined>({ asked, kind }: Placed, credential: Got): Got {
  const validity = validityOf(asked);
  const { resource } = asked.params;
  if (!credential || 'kind' in credential || (credential.expires_in ?? Infinity) >= validity)
    return credential;
  throw new KeyturnError(
    'token_invalid',
    `The newest token for ${quoted(resource)} lives ${credential.expires_in} s more, and the command needs ${validity} s. Nothing was run.`,
    {
      hint:
        kind === 'file'
          ? 'Name less with --min-validity.'
          : 'Name less with --min-validity; or use --file, whose token is replaced before it ends.',
    },
  );
}
