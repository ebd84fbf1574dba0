/**
 * The page that the browser shows when it comes back from the authorization server.
 *
 * Invariant: the texts are fixed. The page has no script and no remote content, and is neither stored nor sent as a
 * referrer, because its address contains a code. Of the request it repeats nothing but the error code of an answer
 * without `state`, quoted, bounded and escaped.
 */
import { createHash } from 'node:crypto';
import { quoted } from '../../base/errors.ts';

export type Page = 'done' | 'asking' | 'again' | 'failed' | 'otherAccount' | 'unexpected' | 'stateless';

type Texts = Readonly<Record<Page, { readonly title: string; readonly body: string }>>;

const texts: Texts = {
  done: {
    title: 'Signed in',
    body: 'Keyturn has what it needs. You can close this tab. Wrong account? <code>keyturn login URL --account NAME</code> asks again.',
  },
  asking: {
    title: 'Another account signed in',
    body: 'Keyturn asks whether to keep it: answer in its window, or with <code>keyturn request list</code>. Until then nothing is stored. You can close this tab.',
  },
  again: {
    title: 'One more page',
    body: 'The server did not accept Keyturn’s request. Keyturn sends another one, and opens the sign-in page once more.',
  },
  failed: {
    title: 'Sign-in failed',
    body: 'Nothing was stored. The app that asked, or <code>keyturn sign-in list</code>, says why.',
  },
  otherAccount: {
    title: 'Another account signed in',
    body: 'Nothing was stored. Sign out at the sign-in provider, or pick the right account, and start again with <code>keyturn login --account</code>.',
  },
  unexpected: {
    title: 'Not a sign-in that Keyturn waits for',
    body: 'This address belongs to a sign-in that has ended or was never started here, or was not opened as a page in a browser. Start again from the app.',
  },
  stateless: {
    title: 'The answer has no state',
    body: 'A server has to send <code>state</code> back. Keyturn takes no answer without it, and still waits for one.',
  },
};

const style =
  'body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;color:#1c1c1e;background:#fff}' +
  '@media(prefers-color-scheme:dark){body{color:#eee;background:#1c1c1e}}';

const styleHash = createHash('sha256').update(style).digest('base64');

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
} as const;

/** `error`: the code in an answer without `state`. */
export function renderPage(page: Page, error = ''): string {
  const { title, body: text } = texts[page];
  const body = error === '' ? text : `${text} The answer’s error: ${escaped(quoted(error))}.`;
  return (
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${title} – Keyturn</title><style>${style}</style><h1>${title}</h1><p>${body}</p></html>\n`
  );
}

const escaped = (text: string): string => text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`);
