/**
 * The page's one way out: `window.keyturn`, which preload puts there.
 *
 * Invariant: a call never rejects. Whatever goes wrong on the way is a refusal as a value.
 */
import type { Envelope } from '../../electron/bridge/channels.ts';
import { strings } from '../base/strings.ts';
import type { ChannelName, Bridge, ParamsOn, ResultOn } from '../base/views.ts';
import { bridgeUnavailable } from '../base/views.ts';

declare global {
  interface Window {
    readonly keyturn: Bridge;
  }
}

export async function call<C extends ChannelName>(
  channel: C,
  params: ParamsOn<C>,
): Promise<Envelope<ResultOn<C>>> {
  try {
    return await window.keyturn.call(channel, params);
  } catch {
    return bridgeUnavailable(strings.bridgeUnavailable);
  }
}

/** Calls `listener` after every change that the broker tells. Answers how to stop. */
export function onChange(listener: () => void): () => void {
  return window.keyturn.onChange(listener);
}
