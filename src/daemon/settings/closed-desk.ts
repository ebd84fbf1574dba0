/**
 * A desk's home without its app: what a broker without a window may do there.
 *
 * Invariant: it serves what is allowed and takes away; it gives nobody more than they have, because nobody could be
 * asked. Every method of the owner's that widens stands in the table below. Questions are refused where they are
 * asked (broker/questions/interaction.ts), so that none is open that a key could answer.
 */
import type { Broker } from '../../broker/broker.ts';
import { KeyturnError } from '../../base/errors.ts';
import type { WideningMethod } from '../../ipc/protocol/effects.ts';
import type { MethodName, ParamsOf } from '../../ipc/protocol/protocol.ts';
import { endsRefusal, widens } from '../clients/widening.ts';

export function closedDesk(): KeyturnError {
  return new KeyturnError('not_permitted', 'This home’s desk is closed: its app does not run.', {
    rule: 'In the home of a desk nothing is widened without the person’s own press, whoever ended the app',
    hint:
      'Start the app and do it there; in its Settings the home can also be released for brokers without a window. ' +
      'Where there is no app, as over SSH: use another KEYTURN_HOME, or end this home with `keyturn reset`.',
  });
}

/** Methods that start a sign-in, or carry one on: they can put another account behind what was allowed. */
type SignInMethod = 'login.start' | 'login.answer';

type Table = {
  readonly [M in WideningMethod | SignInMethod]: (broker: Broker, params: ParamsOf<M>) => boolean;
};

/** Whether a request gives somebody more than they have. Each throws what its method would throw for such params. */
const table: Table = {
  'permission.set': (broker, params) => widens(broker, params),
  'permission.end': (broker, params) => endsRefusal(broker, params),
  'registration.set': () => true,
  'override.set': (_broker, { on }) => on,
  // Judged by the vault's word when that is known (home-check.ts). What is in force before then was written by anybody.
  'settings.set': () => false,
  'vault.passphrase': () => true,
  // It is needed to learn whose home this is.
  'vault.unlock': () => false,
  'interaction.answer': () => false,
  'login.start': () => true,
  'login.answer': () => true,
};

/** `params` have passed the method's schema. */
export function widensHere(broker: Broker, method: MethodName, params: unknown): boolean {
  if (!Object.hasOwn(table, method)) return false;
  // The table binds each name to params of its own; the compiler can't follow the lookup.
  const judge = table[method as keyof Table] as (broker: Broker, params: unknown) => boolean;
  return judge(broker, params);
}
