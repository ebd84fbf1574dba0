/** What a command asks for in place of a program: as whom, and for which token or API key. */
import type { CredentialGetParams } from '../../ipc/wire/token-messages.ts';

export interface Asked {
  /** The name of a paired program; undefined: the command line itself. */
  readonly as: string | undefined;
  readonly params: CredentialGetParams;
}

/** A server that takes an API key gets one, where the permission says so; any other gets a token. */
export const kinds = ['token', 'key'] as const;
