/**
 * Something the person does: a call whose refusal is shown beside its button.
 *
 * Invariant: one at a time for each place; after each call the lists are read again.
 */
import { useState } from 'preact/hooks';
import { call } from './bridge.ts';
import { rereadAll } from './store.ts';
import type { ChannelName, ParamsOn, Refusal, ResultOn } from '../base/views.ts';

export interface Action {
  readonly isBusy: boolean;
  readonly refusal: Refusal | undefined;
  /** Undefined where it was refused. */
  run<C extends ChannelName>(channel: C, params: ParamsOn<C>): Promise<ResultOn<C> | undefined>;
}

export function useAction(): Action {
  const [{ isBusy, refusal }, set] = useState<{ isBusy: boolean; refusal?: Refusal }>({ isBusy: false });
  return {
    isBusy,
    refusal,
    async run(channel, params) {
      if (isBusy) return undefined;
      set({ isBusy: true });
      const answer = await call(channel, params);
      set(answer.ok ? { isBusy: false } : { isBusy: false, refusal: answer.refusal });
      rereadAll();
      return answer.ok ? answer.value : undefined;
    },
  };
}
