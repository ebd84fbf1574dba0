/**
 * The authorization server's web pages: sign-in, consent, error.
 *
 * Invariant: whatever came from a client or a request is escaped; no page has a script or loads
 * anything. The forms work in any browser and are simple enough for `demo/user-agent.ts`.
 */

export interface ConsentQuestion {
  readonly client: string;
  readonly account: string;
  readonly redirectHost: string;
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
}

/** Headers of every page. No `form-action`: it would stop the redirect to the loopback address that ends a sign-in. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
} as const;

/** @param action Where the form is sent, a path of this server. */
export function signInPage(action: string, accounts: readonly string[], complaint?: string): string {
  const options = accounts.map((name) => `<option value="${escaped(name)}">`).join('');
  return page(
    'Sign in',
    `${complaint === undefined ? '' : `<p>${escaped(complaint)}</p>`}
<form method="post" action="${escaped(action)}">
<label>Account <input name="login" list="accounts" required autofocus></label>
<datalist id="accounts">${options}</datalist>
<button>Sign in</button>
</form>
<p>Accounts of this demo: ${accounts.map((name) => `<b>${escaped(name)}</b>`).join(', ')}. There are no passwords.</p>`,
  );
}

/** @param action Where the form is sent, a path of this server. */
export function consentPage(action: string, question: ConsentQuestion): string {
  return page(
    'Allow access?',
    `<p><b>${escaped(question.client)}</b> asks for access as <b>${escaped(question.account)}</b>.</p>
<p>To: ${list(question.resources)}</p>
<p>It may: ${list(question.scopes)}</p>
<p>The answer goes to <b>${escaped(question.redirectHost)}</b>.</p>
<form method="post" action="${escaped(action)}">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>
</form>`,
  );
}

export function errorPage(error: string, description: string): string {
  return page('Sign-in failed', `<p><b>${escaped(error)}</b></p><p>${escaped(description)}</p>`);
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escaped(title)}</title>
<style>body{font:16px system-ui;max-width:32em;margin:3em auto;padding:0 1em}button{font:inherit}</style></head>
<body><h1>${escaped(title)}</h1>
${body}
</body>
</html>
`;
}

function list(words: readonly string[]): string {
  return words.length === 0
    ? 'nothing in particular'
    : words.map((word) => `<code>${escaped(word)}</code>`).join(' ');
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
