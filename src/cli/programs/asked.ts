/** What a command asks for in place of a program: as whom, and for which token. */
import type { TokenGetParams } from '../../ipc/wire/token-messages.ts';

export interface Asked {
  /** The name of a paired program; undefined: the command line itself. */
  readonly as: string | undefined;
  readonly params: TokenGetParams;
}
