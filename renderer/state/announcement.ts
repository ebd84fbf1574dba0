/** What just happened, for the live region: one sentence, the newest only, and how to take it back. */
import { useEffect, useState } from 'preact/hooks';

/** Announces by itself what came of it. */
export type Undo = () => Promise<void>;

interface Announcement {
  readonly text: string;
  readonly undo?: Undo | undefined;
}

let current: Announcement = { text: '' };
const listeners = new Set<(announcement: Announcement) => void>();

/** Empty takes the sentence away. */
export function announce(text: string, undo?: Undo): void {
  current = { text, undo };
  for (const listener of listeners) listener(current);
}

export function useAnnouncement(): Announcement {
  const [announcement, set] = useState(current);
  useEffect(() => {
    listeners.add(set);
    // Something may have been said between the first drawing and this effect.
    set(current);
    return () => void listeners.delete(set);
  }, []);
  return announcement;
}
