/** What a command asks the broker for: as which app, and for which token or API key. */
import { accountFrom, scopeFrom } from '../terminal/arguments.ts';
import { forwardedSocket } from '../../ipc/wire/forwarded.ts';
import type { CredentialGetParams } from '../../ipc/wire/token-messages.ts';

export interface AppRequest {
  /** The name of a paired app; undefined: the command line itself. */
  readonly as: string | undefined;
  readonly params: CredentialGetParams;
}

/** At the far end of a forward, where no owner is, the command line is an app: `token@LABEL`. */
export const forwardedName = 'token';

/** A server that takes an API key gets one, where the permission says so; any other gets a token. */
export const kinds = ['token', 'apiKey'] as const;

interface AskedOptions {
  readonly as?: string;
  readonly scope?: readonly string[];
  readonly account?: string;
  readonly 'no-input'?: boolean;
}

/** What was typed, of terminal/token-options.ts. `validity` in seconds. Throws `invalid_scope`. */
export function askedBy(options: AskedOptions, resource: string, validity: number): AppRequest {
  return {
    as: options.as ?? (forwardedSocket(process.env) && forwardedName),
    params: {
      resource,
      kinds,
      ...scopeFrom(options.scope),
      ...accountFrom(options.account),
      minimumValidity: validity,
      interaction: options['no-input'] ? 'never' : 'allow',
    },
  };
}
