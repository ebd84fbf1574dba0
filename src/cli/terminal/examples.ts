/**
 * One example of each command: a refusal of what was typed shows it.
 *
 * Invariant: each stands in its command's help too, and its command understands it (test/cli/terminal/examples.test.ts).
 */
const notes = 'https://notes.example/mcp';

export const examples: Readonly<Record<string, string>> = {
  token: `keyturn token ${notes}`,
  login: `keyturn login ${notes} --account work`,
  list: 'keyturn list --json',
  explain: `keyturn explain ${notes}`,
  revoke: `keyturn revoke ${notes}`,
  allow: `keyturn allow cli ${notes}`,
  deny: `keyturn deny my-editor ${notes}`,
  end: `keyturn end my-editor ${notes}`,
  clients: 'keyturn clients --json',
  unpair: 'keyturn unpair my-editor',
  pending: 'keyturn pending --json',
  answer: 'keyturn answer 1a2b3c4d yes --this-run --for 30m',
  register: 'keyturn register https://login.example --client-id abc',
  override: 'keyturn override https://login.example/tenant issuer-mismatch on',
  'client-metadata': 'keyturn client-metadata https://example.com/keyturn.json',
  audit: 'keyturn audit tail --lines 50',
  lock: 'keyturn lock',
  unlock: 'keyturn unlock',
  passphrase: 'keyturn passphrase',
  status: 'keyturn status --json',
  settings: 'keyturn settings logLevel debug',
  daemon: 'keyturn daemon --restart',
  reset: 'keyturn reset',
  completion: 'keyturn completion bash',
};
