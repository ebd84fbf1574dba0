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

/** Milliseconds that `undo` is offered for, where it ends by itself. */
const undoFor = 10_000;

/** Empty takes the sentence away. */
export function announce(text: string, undo?: Undo): void {
  tell({ text, undo });
}

/** The same, and the way back is gone after ten seconds. */
export function announceBriefly(text: string, undo: Undo): void {
  const announcement: Announcement = { text, undo };
  tell(announcement);
  setTimeout(() => {
    // Something newer may have been said since.
    if (current === announcement) tell({ text });
  }, undoFor);
}

function tell(announcement: Announcement): void {
  current = announcement;
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
