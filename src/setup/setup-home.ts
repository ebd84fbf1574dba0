/**
 * What setting up needs of the home: its folder, for the backups, and the broker, for keys and secrets.
 *
 * Invariant: types only. Who asks the broker, a command or the app, is the caller's business.
 */
import type { z } from 'zod';
import type { methods, ParamsOf } from '../ipc/protocol/methods.ts';

/** One request to the broker as its owner. Its answer has passed the method's schema. */
export type AskOwner = <
  M extends 'backup.seal' | 'backup.open' | 'apiKey.list' | 'apiKey.compare' | 'apiKey.set',
>(
  method: M,
  params: ParamsOf<M>,
) => Promise<z.output<(typeof methods)[M]['result']>>;

export interface SetupHome {
  /** Absolute. */
  readonly stateFolder: string;
  readonly ask: AskOwner;
}
