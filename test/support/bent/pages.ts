/**
 * The pages of an authorization server, for any browser and for demo/user-agent.ts.
 *
 * Invariant: whatever came from a client or a request is escaped; no page has a script or loads anything. `action`, where a
 * form is sent, is a path and a query as `URL` writes them, which end no attribute.
 */

export function signInPage(action: string, complaint: string): string {
  const field = '<label>Account <input name="login" required autofocus></label>';
  return page('Sign in', action, `<p>${escaped(complaint)}</p>${field}<button>Sign in</button>`);
}

/** @param account Who signed in; empty: nobody was asked. */
export function consentPage(action: string, client: string, account: string, asked: readonly string[]) {
  const body = `<input type="hidden" name="account" value="${escaped(account)}">
<p><b>${escaped(client)}</b> asks for: ${asked.map((word) => `<code>${escaped(word)}</code>`).join(' ')}</p>
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button>`;
  return page('Allow access?', action, body);
}

function page(title: string, action: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1><form method="post" action="${action}">${body}</form></body></html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
