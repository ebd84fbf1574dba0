/** The page of every window: one bundle, told by its address what to show. */
import { render } from 'preact';
import { App } from './app.tsx';
import { keepFocus } from './state/focus.ts';
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
