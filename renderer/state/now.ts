/** The present moment for everything that is shown relative to it: one clock for the whole page. */
import { useEffect, useRef, useState } from 'preact/hooks';

/** Milliseconds. The page shows no time more precise than a minute. */
const tick = 20_000;

const seconds = (): number => Math.floor(Date.now() / 1000);

const listeners = new Set<() => void>();

export function startClock(): void {
  setInterval(() => {
    for (const listener of listeners) listener();
  }, tick);
}

/** What `tell` makes of this moment (seconds since 1970); renders again only where that came out differently. */
export function useNow<T extends string | number | boolean>(tell: (now: number) => T): T {
  const told = tell(seconds());
  const shown = useRef(told);
  shown.current = told;
  const [, rerender] = useState(0);
  useEffect(() => {
    const listener = (): void => {
      if (tell(seconds()) !== shown.current) rerender((turn) => turn + 1);
    };
    listeners.add(listener);
    return () => void listeners.delete(listener);
  });
  return told;
}
