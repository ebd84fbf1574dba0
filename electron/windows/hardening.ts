/**
 * What none of our pages may do: leave, open windows, ask for rights, load from outside.
 *
 * Invariant: each of these is refused here; nothing depends on the page's good behaviour. Set up
 * before the first window is made.
 */
import type { App, Session, WebContents } from 'electron';
import { isEntryPage, isOwnUrl } from './page.ts';

/** Before the app is ready. */
export function hardenApp(app: App): void {
  app.enableSandbox();
  app.on('web-contents-created', (_event, contents) => hardenContents(contents));
}

/** The session that every window uses. */
export function hardenSession(session: Session): void {
  session.setPermissionRequestHandler((_contents, _permission, answer) => answer(false));
  session.setPermissionCheckHandler(() => false);
  session.setDevicePermissionHandler(() => false);
  session.on('will-download', (event) => event.preventDefault());
  // The content security policy says the same; this also holds for what it doesn't cover.
  session.webRequest.onBeforeRequest((details, answer) => answer({ cancel: !isOwnUrl(details.url) }));
}

function hardenContents(contents: WebContents): void {
  contents.on('will-navigate', (event) => {
    // A reload of the page itself stays possible.
    if (!isEntryPage(event.url)) event.preventDefault();
  });
  contents.on('will-frame-navigate', (event) => {
    if (!event.isMainFrame) event.preventDefault();
  });
  contents.on('will-redirect', (event) => event.preventDefault());
  contents.on('will-attach-webview', (event) => event.preventDefault());
  contents.setWindowOpenHandler(() => ({ action: 'deny' }));
}
