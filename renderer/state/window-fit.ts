/**
 * Asks for a window as high as its card.
 *
 * Invariant: the window of one card only grows: nothing that was in view moves out of it.
 */
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { call } from './store.ts';

/** `cardId`: a new one may need a lower window. A ref of what holds the card, a form with a footer below the rest. */
export function useWindowFit(cardId: string | undefined): RefObject<HTMLElement | null> {
  const holder = useRef<HTMLElement>(null);
  useEffect(() => {
    const { current: element } = holder;
    if (element === null || cardId === undefined) return undefined;
    let highest = 0;
    const fit = (): void => {
      const height = heightOf(element);
      if (height <= highest) return;
      highest = height;
      void call('card.fit', { height });
    };
    const observer = new ResizeObserver(fit);
    for (const child of element.querySelectorAll('.question > *')) observer.observe(child);
    fit();
    return () => observer.disconnect();
  }, [cardId]);
  return holder;
}

/** Pixels that the card needs: those that the page has, without the free room above the footer. */
function heightOf(element: HTMLElement): number {
  const footer = element.querySelector('.question > footer');
  const before = footer?.previousElementSibling;
  if (footer === null || !before) return element.scrollHeight;
  const between = footer.getBoundingClientRect().top - before.getBoundingClientRect().bottom;
  const gap = Number.parseFloat(getComputedStyle(footer.parentElement ?? footer).rowGap) || 0;
  return Math.max(1, Math.ceil(element.scrollHeight - Math.max(0, between - gap)));
}
