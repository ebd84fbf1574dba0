/**
 * The page that the browser shows when it comes back from the authorization server, in the browser's language where we
 * speak it.
 *
 * Invariant: the texts are fixed. The page has no script and no remote content, repeats nothing of the request, and is
 * neither stored nor sent as a referrer, because its address contains a code.
 */
import { createHash } from 'node:crypto';

export type Page = 'done' | 'asking' | 'again' | 'failed' | 'otherAccount' | 'unexpected';

type Texts = Readonly<Record<Page, { readonly title: string; readonly body: string }>>;

const english: Texts = {
  done: {
    title: 'Signed in',
    body: 'Keyturn has what it needs. You can close this tab. Wrong account? <code>keyturn login --account NAME</code> asks again.',
  },
  asking: {
    title: 'Another account signed in',
    body: 'Keyturn asks whether to keep it: answer in its window, or with <code>keyturn pending</code>. Until then nothing is stored. You can close this tab.',
  },
  again: {
    title: 'One more page',
    body: 'The server did not accept Keyturn’s request. Keyturn sends another one, and opens the sign-in page once more.',
  },
  failed: {
    title: 'Sign-in failed',
    body: 'Nothing was stored. The program that asked, or <code>keyturn list</code>, says why.',
  },
  otherAccount: {
    title: 'Another account signed in',
    body: 'Nothing was stored. Sign out at the sign-in provider, or pick the right account, and start again with <code>keyturn login --account</code>.',
  },
  unexpected: {
    title: 'Not a sign-in that Keyturn waits for',
    body: 'This address belongs to a sign-in that has ended or was never started here. Start again from the program.',
  },
};

const german: Texts = {
  done: {
    title: 'Angemeldet',
    body: 'Keyturn hat, was es braucht. Sie können diesen Tab schließen. Falsches Konto? <code>keyturn login --account NAME</code> fragt noch einmal.',
  },
  asking: {
    title: 'Ein anderes Konto hat sich angemeldet',
    body: 'Keyturn fragt, ob es behalten werden soll: Antworten Sie in seinem Fenster oder mit <code>keyturn pending</code>. Bis dahin wird nichts gespeichert. Sie können diesen Tab schließen.',
  },
  again: {
    title: 'Noch eine Seite',
    body: 'Der Server hat die Anfrage von Keyturn nicht angenommen. Keyturn sendet eine andere und öffnet die Anmeldeseite noch einmal.',
  },
  failed: {
    title: 'Anmeldung fehlgeschlagen',
    body: 'Es wurde nichts gespeichert. Warum, sagt das Programm, das gefragt hat, oder <code>keyturn list</code>.',
  },
  otherAccount: {
    title: 'Ein anderes Konto hat sich angemeldet',
    body: 'Es wurde nichts gespeichert. Melden Sie sich beim Anmeldedienst ab, oder wählen Sie das richtige Konto, und beginnen Sie neu mit <code>keyturn login --account</code>.',
  },
  unexpected: {
    title: 'Keine Anmeldung, auf die Keyturn wartet',
    body: 'Diese Adresse gehört zu einer Anmeldung, die beendet ist oder hier nie begonnen wurde. Beginnen Sie im Programm neu.',
  },
};

const languages: Readonly<Record<string, Texts>> = { en: english, de: german };

/** `accepted`: Accept-Language (RFC 9110 §12.5.4). Browsers name the dearest language first. */
function languageFor(accepted: string): string {
  const named = accepted.split(',').map((range) => range.trim().split(/[-;]/, 1)[0] ?? '');
  return named.find((language) => Object.hasOwn(languages, language)) ?? 'en';
}

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

/** `accepted`: the request's Accept-Language. */
export function renderPage(page: Page, accepted = ''): string {
  const language = languageFor(accepted);
  const { title, body } = (languages[language] ?? english)[page];
  return (
    `<!doctype html><html lang="${language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${title} – Keyturn</title><style>${style}</style><h1>${title}</h1><p>${body}</p></html>\n`
  );
}
