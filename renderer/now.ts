/** The present moment for everything that is shown relative to it. */
import { useEffect, useState } from 'preact/hooks';

/** Milliseconds. Nothing on the page is told in less than minutes. */
const tick = 20_000;

const seconds = (): number => Math.floor(Date.now() / 1000);

/** Seconds since 1970; renders again now and then. */
export function useNow(): number {
  const [now, set] = useState(seconds);
  useEffect(() => {
    const timer = setInterval(() => set(seconds()), tick);
    return () => clearInterval(timer);
  }, []);
  return now;
}
