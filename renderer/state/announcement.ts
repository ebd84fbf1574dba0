/** What just happened, for the live region: one sentence, the newest only. */
import { useEffect, useState } from 'preact/hooks';

let current = '';
const listeners = new Set<(text: string) => void>();

/** Empty takes the sentence away. */
export function announce(text: string): void {
  current = text;
  for (const listener of listeners) listener(text);
}

export function useAnnouncement(): string {
  const [text, set] = useState(current);
  useEffect(() => {
    listeners.add(set);
    // Something may have been said between the first drawing and this effect.
    set(current);
    return () => void listeners.delete(set);
  }, []);
  return text;
}
