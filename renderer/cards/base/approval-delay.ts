/**
 * When a card may be approved.
 *
 * Invariant: only after the whole card was on the screen and its window focused for half a second without
 * a break, counted from the moment when the main process knew of it; a break starts it again, and so does a
 * change of what the card says. The main process keeps a guard of its own; this one keeps the button from
 * promising what that would refuse. A key counts later than a click: only after the card was there for a whole second.
 */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../../state/store.ts';

/** Milliseconds: longer than somebody needs to finish a click or a key meant for what was there before. */
const minViewTime = 500;

/** Milliseconds before a key counts: somebody who types needs longer to notice that the focus moved. */
const minKeyTime = 1000;

/** The end of each scope, and of each of several servers: what is there may be taller than the window. */
const ends = '.end';

/** The part of it that has to be in view: a whole one is not always measured as such. */
const nearlyWhole = 0.9;

/**
 * `ids`: of the questions on the card. `content`: all that the card says, as text, and with every question another one;
 * undefined until that is complete.
 */
export function useApprovalDelay(ids: readonly string[], content: string | undefined): boolean {
  // The content that may be approved: other content can't be, from its first drawing on.
  const [approvable, set] = useState<string>();
  useEffect(() => {
    if (content === undefined) return undefined;
    return watch(ids, (canApprove) => set(canApprove ? content : undefined));
  }, [content]);
  return content !== undefined && approvable === content;
}

/** Whether a card says something else than when it was first complete; from then on for good. */
export function useHasChanged(content: string | undefined): boolean {
  const first = useRef(content);
  const hasChanged = useRef(false);
  first.current ??= content;
  if (content !== undefined && content !== first.current) hasChanged.current = true;
  return hasChanged.current;
}

/**
 * Whether keys count on a card: its window was in front, and the card the same, for a second. Where a new window takes
 * the focus while somebody types, the next keys were meant for another window. `content`: as for `useApprovalDelay`.
 */
export function useTakesKeys(content: string | undefined): boolean {
  // The content that keys count for: for other content none does, from its first drawing on.
  const [taking, set] = useState<{ readonly content: string | undefined }>();
  useEffect(() => {
    const over = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const lost = (): void => {
      clearTimeout(timer);
      set(undefined);
    };
    const look = (): void => {
      lost();
      if (isSeen()) timer = setTimeout(() => set(isSeen() ? { content } : undefined), minKeyTime);
    };
    watchSight(over.signal, look, lost);
    look();
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [content]);
  return taking !== undefined && taking.content === content;
}

/**
 * A ref of a card, and whether the end of each of its scopes was in view since the card says this: a long list may hide
 * the one that matters below the window's edge.
 */
export function useScopesSeen(content: string | undefined): {
  readonly card: RefObject<HTMLFormElement | null>;
  readonly isSeen: boolean;
} {
  const card = useRef<HTMLFormElement>(null);
  const [seenContent, set] = useState<string>();
  useEffect(() => {
    if (content === undefined || card.current === null) return undefined;
    const left = new Set<Element>(card.current.querySelectorAll(ends));
    if (left.size === 0) return set(content);
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { intersectionRatio, target } of entries)
          if (intersectionRatio >= nearlyWhole) left.delete(target);
        if (left.size === 0) set(content);
      },
      { threshold: nearlyWhole },
    );
    for (const end of left) observer.observe(end);
    return () => observer.disconnect();
  }, [content]);
  return { card, isSeen: content !== undefined && seenContent === content };
}

function watch(ids: readonly string[], set: (canApprove: boolean) => void): () => void {
  const over = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts the looks, so that an answer that comes after a break allows nothing. */
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
    const { ok } = await call('card.shown', { ids: [...ids] });
    if (!ok || mine !== look || over.signal.aborted) return;
    timer = setTimeout(() => set(isSeen()), minViewTime);
  };
  watchSight(over.signal, () => void start(), stop);
  void start();
  return () => {
    over.abort();
    clearTimeout(timer);
  };
}

/** `look` where the window may be seen again, `lost` where it isn't in front any more; until `signal`. */
function watchSight(signal: AbortSignal, look: () => void, lost: () => void): void {
  window.addEventListener('focus', look, { signal });
  window.addEventListener('blur', lost, { signal });
  document.addEventListener('visibilitychange', look, { signal });
}

function isSeen(): boolean {
  return document.visibilityState === 'visible' && document.hasFocus();
}
