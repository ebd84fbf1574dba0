/**
 * The pages of the authorization server: sign-in, consent, error.
 *
 * Invariant: every text from outside is escaped. No page has a script, loads anything, or can be shown in a frame. No
 * button has an id, so no address moves the focus to one. Each page has one heading, labels for its fields, and works
 * without a mouse.
 */
import { visible } from '../../../base/text/visible.ts';

/**
 * Headers of every answer. oidc-provider has a page of its own, for a sign-in as another account than before, and adds
 * the hash of that page's script to `script-src`.
 */
export const answerHeaders = {
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; script-src; base-uri 'none'; frame-ancestors 'none'",
} as const;

/** Headers of every page of ours. No `form-action`: browsers apply it to the redirect that ends a sign-in, too. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  // Not no-referrer: a browser then calls the origin of our own forms "null".
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  ...answerHeaders,
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
} as const;

interface Form {
  /** Where the form is sent: a path of this server. */
  readonly action: string;
  readonly formToken: readonly [name: string, value: string];
}

export interface SignInQuestion extends Form {
  readonly names: readonly string[];
  readonly complaint?: string;
}

export interface ConsentQuestion extends Form {
  readonly client: string;
  /** True: the client named itself, and nobody checked the name. */
  readonly isSelfNamed: boolean;
  /** The host of its metadata document, if it has one. */
  readonly documentHost?: string;
  /** Who signed in; undefined where the user signs in afterwards. */
  readonly account: string | undefined;
  /** Where the user signs in afterwards. */
  readonly nextHost?: string;
  /** Where the answer goes. */
  readonly redirectHost: string;
  readonly isThisMachine: boolean;
  /** True: all its redirects lead to this machine, so that any program here could pose as it. */
  readonly isLocalOnly: boolean;
  readonly resource: string;
  readonly resourceUri: string;
  /** Seconds that the access lasts, and whether the client may renew it until then. */
  readonly lasts: number;
  readonly isRenewed: boolean;
  readonly scopes: readonly { readonly scope: string; readonly words: string }[];
}

export function signInPage({ names, complaint, ...form }: SignInQuestion): string {
  const options = names.map((name) => `<option value="${escaped(name)}">`).join('');
  return page(
    'Sign in',
    `${complaint === undefined ? '' : `<p role="alert">${escaped(complaint)}</p>`}
${formStart(form)}
<p><label for="login">Account</label> <input id="login" name="login" list="accounts" autocomplete="username" required></p>
<datalist id="accounts">${options}</datalist>
<p><button>Sign in</button></p>
</form>
<p>This server is for development. It asks for no password. Accounts: ${names.map((name) => `<b>${escaped(name)}</b>`).join(', ')}.</p>`,
  );
}

export function consentPage(question: ConsentQuestion): string {
  const { client, account, redirectHost, resource, resourceUri, scopes } = question;
  const place = question.isThisMachine
    ? `a program on this computer (<b>${escaped(redirectHost)}</b>)`
    : `<b>${escaped(redirectHost)}</b>`;
  return page(
    `Allow ${client} to use ${resource}?`,
    `${whoNote(question)}
${nameNote(question)}
<p>If you allow it, the answer goes to ${place}.${question.isThisMachine || account === undefined ? '' : ' You aren’t asked the same again for a year.'}</p>
${question.isLocalOnly ? '<p role="note"><b>Take care:</b> this app runs on a computer, so this server can’t check which program it is. Allow it only if you started it yourself just now.</p>' : ''}
<h2>It may use ${escaped(resource)} <small>(${escaped(resourceUri)})</small> to:</h2>
${scopes.length === 0 ? '<p>nothing in particular</p>' : `<ul>${scopes.map(({ scope, words }) => `<li>${escaped(words)} <code>${escaped(scope)}</code></li>`).join('')}</ul>`}
<p>${lastsNote(question)}</p>
${formStart(question)}
<p><button name="decision" value="deny">Deny</button>
<button name="decision" value="allow">Allow</button></p>
</form>`,
  );
}

function lastsNote({ lasts, isRenewed }: ConsentQuestion): string {
  return isRenewed
    ? `It keeps this access while you are away, until ${timeOf(lasts)} after its last use.`
    : `This access ends after ${timeOf(lasts)}.`;
}

/** In words. `seconds` is rounded up. */
function timeOf(seconds: number): string {
  const [count, unit] =
    seconds >= 2 * 86_400
      ? [seconds / 86_400, 'day']
      : seconds >= 7200
        ? [seconds / 3600, 'hour']
        : [seconds / 60, 'minute'];
  const whole = Math.ceil(count);
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`;
}

function whoNote({ account, nextHost = '' }: ConsentQuestion): string {
  return account === undefined
    ? `<p>If you allow it, you sign in at <b>${escaped(nextHost)}</b> next.</p>`
    : `<p>You are signed in as <b>${escaped(account)}</b>.</p>`;
}

function nameNote({ client, documentHost, isSelfNamed }: ConsentQuestion): string {
  if (documentHost !== undefined) {
    return `<p>The app calls itself <b>${escaped(client)}</b>. Its description is published at <b>${escaped(documentHost)}</b>.</p>`;
  }
  return isSelfNamed
    ? `<p>The app calls itself <b>${escaped(client)}</b>. Nobody checked that name.</p>`
    : `<p>The operator of this server entered <b>${escaped(client)}</b>.</p>`;
}

/** `error`: an OAuth error code. `back`: where the app would hear of it, if the user goes there. */
export function errorPage(error: string, description: string, back?: string): string {
  const link =
    back === undefined ? '' : `<p><a href="${escaped(back)}" rel="noreferrer">Tell the app</a></p>\n`;
  return page(
    'The sign-in can’t go on',
    `<p>${escaped(description)}</p>
${link}<p>Go back to the app and start again. If this page comes again, tell the app’s maker: <code>${escaped(error)}</code>.</p>`,
  );
}

/** A sign-in that failed and may be tried again. `action`: the path of its page. */
export function tryAgainPage(problem: string, action: string): string {
  return page(
    'You are not signed in',
    `<p role="alert">${escaped(problem)}</p>
<p><a href="${escaped(action)}">Try again</a></p>`,
  );
}

function formStart({ action, formToken: [name, value] }: Form): string {
  return `<form method="post" action="${escaped(action)}">
<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`;
}

/**
 * "Allow" takes no press of the pointer for a moment after the page appeared, and after the pointer came onto the page:
 * another page can get a user to click twice, and uncover this one in between. The animation moves nothing, so it
 * runs also for people who want little motion; the keyboard waits for nothing. A finger is never on the page before
 * it presses. Another animation name restarts the wait when the pointer comes.
 */
const heldAllow = `@keyframes shown{from,to{pointer-events:none}}@keyframes entered{from,to{pointer-events:none}}button[value=allow]{animation:shown .7s}@media(hover:hover){html:hover button[value=allow]{animation-name:entered}}`;

const style = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36em;margin:3em auto;padding:0 1em;overflow-wrap:anywhere}h1{font-size:1.5rem}h2{font-size:1.1rem}button{font:inherit;padding:.5em 1.5em;margin-right:1em}input{font:inherit;padding:.4em}${heldAllow}`;

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title>
<style>${style}</style></head>
<body><main><h1>${escaped(title)}</h1>
${body}
</main></body>
</html>
`;
}

/** What can't be seen is there as an escape: it could show another host than the one meant. */
function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
