/**
 * When a card may be approved.
 *
 * Invariant: only after the whole card was on the screen and its window focused for half a second without
 * a break, counted from the moment when the main process knew of it; a break starts it anew, and so does a
 * change of what the card says. The main process keeps a guard of its own; this one keeps the button from
 * promising what that would refuse.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../state/host.ts';

/** Milliseconds: longer than somebody needs to finish a click or a key meant for what was there before. */
const lookAtLeast = 500;

/** `said`: all that the card says, as text; undefined until that is complete. */
export function useArmed(questionId: string, said: string | undefined): boolean {
  // What it was armed for: the first drawing of anything else is unarmed already.
  const [armedFor, set] = useState<string>();
  useEffect(() => {
    if (said === undefined) return undefined;
    return watch(questionId, (isArmed) => set(isArmed ? said : undefined));
  }, [questionId, said]);
  return said !== undefined && armedFor === said;
}

/** Whether a card says something else than when it was first complete; from then on for good. */
export function useChanged(said: string | undefined): boolean {
  const first = useRef(said);
  const hasChanged = useRef(false);
  first.current ??= said;
  if (said !== undefined && said !== first.current) hasChanged.current = true;
  return hasChanged.current;
}

/** Tells whether the window is before the person for half a second: a key from before was meant for something else. */
export function useSettled(): () => boolean {
  const since = useRef<number | undefined>(undefined);
  useEffect(() => {
    const over = new AbortController();
    const look = (): void => void (since.current = isSeen() ? performance.now() : undefined);
    watchSight(over.signal, look, look);
    look();
    return () => over.abort();
  }, []);
  return () => since.current !== undefined && performance.now() - since.current >= lookAtLeast;
}

function watch(id: string, set: (isArmed: boolean) => void): () => void {
  const over = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts the looks, so that an answer that comes after a break arms nothing. */
  let look = 0;
  const stop = (): void => {
    look += 1;
    clearTimeout(timer);
    set(false);
  };
  const start = async (): Promise<void> => {
    stop();
    if (!isSeen()) return;
    const mine = look;
    const { ok } = await call('card.shown', { id });
    if (!ok || mine !== look || over.signal.aborted) return;
    timer = setTimeout(() => set(isSeen()), lookAtLeast);
  };
  watchSight(over.signal, () => void start(), stop);
  void start();
  return () => {
    over.abort();
    clearTimeout(timer);
  };
}

/** `look` where the window may be seen anew, `lost` where it isn't in front any more; until `signal`. */
function watchSight(signal: AbortSignal, look: () => void, lost: () => void): void {
  window.addEventListener('focus', look, { signal });
  window.addEventListener('blur', lost, { signal });
  document.addEventListener('visibilitychange', look, { signal });
}

function isSeen(): boolean {
  return document.visibilityState === 'visible' && document.hasFocus();
}
