/** The page of every window: one bundle, told by its address what to show. */
import { render } from 'preact';
import { App } from './app.tsx';
import { startClock } from './state/now.ts';
import { startStore } from './state/store.ts';
import { strings } from './base/strings.ts';
import './style/colours.css';
import './style/page.css';
import './style/controls.css';
import './style/parts.css';
import './style/dialogs.css';
import './style/views.css';
import './style/activity.css';
import './style/cards.css';
import './style/welcome.css';
import './style/lists.css';

document.title = strings.appName;
startStore();
startClock();
keepFocus();
const place = document.getElementById('app');
if (place) render(<App />, place);

/**
 * Keeps the focus on the page: where the element that had it goes away with its row or its dialog, the view has it. A
 * user at the keyboard goes on there, not at the top of the window.
 */
function keepFocus(): void {
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
