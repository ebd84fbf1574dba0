/**
 * Keeps the focus on the page.
 *
 * Invariant: where the element that had it goes away with its row or its dialog, the view has it: a
 * person at the keyboard goes on there, not at the top of the window.
 */

export function keepFocus(): void {
  let last: EventTarget | null = null;
  document.addEventListener('focusin', (event) => (last = event.target));
  const observer = new MutationObserver(() => {
    if (!(last instanceof Element) || last.isConnected) return;
    last = null;
    if (document.activeElement === document.body)
      document.querySelector('main')?.focus({ preventScroll: true });
  });
  observer.observe(document.body, { childList: true, subtree: true });
}
