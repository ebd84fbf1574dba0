/**
 * Tells the person at the terminal what a waiting request waits for: a sign-in or a permission.
 *
 * Invariant: goes to stderr, names the issuer's host beside its URL, and shows only what belongs to
 * the request at hand.
 */
import type { Connection } from '../client/connection.ts';
import { say } from './output.ts';

/** Shows each question about `resource` once, until the connection ends. */
export async function watchQuestions(
  connection: Connection,
  resource: string,
  /** Called with the id of a sign-in once it was shown. */
  onLogin?: (id: string) => Promise<void>,
): Promise<void> {
  const shown = new Set<string>();
  const origin = URL.parse(resource)?.origin;
  const look = async (): Promise<void> => {
    const answer = await connection.request('interaction.list');
    for (const question of questionsOf(answer)) {
      const id = text(question, 'id');
      if (shown.has(id) || URL.parse(text(question, 'resource'))?.origin !== origin) continue;
      shown.add(id);
      tell(question, onLogin !== undefined);
      // Its refusals are told where they arise.
      if (question['kind'] === 'login') onLogin?.(id).catch(() => undefined);
    }
  };
  connection.onNotification((method) => {
    if (method === 'interaction.changed') look().catch(() => undefined);
  });
  await connection.request('subscribe');
  await look();
}

function tell(question: Fields, isElsewhere: boolean): void {
  const issuer = text(question, 'issuer');
  const host = URL.parse(issuer)?.host ?? issuer;
  const former = text(question, 'formerIssuer');
  if (former) say(`keyturn: the server used to sign in at ${former}, and now names ${issuer}.`);
  if (question['kind'] === 'login') {
    say(
      isElsewhere
        ? `keyturn: sign in at ${host}: open this address in any browser:`
        : `keyturn: sign in at ${host} in your browser. If none opened, visit:`,
    );
    say(text(question, 'url'));
  }
  if (question['kind'] === 'device') {
    say(`keyturn: sign in at ${host}: on any device, open this address and enter ${text(question, 'code')}`);
    say(text(question, 'url'));
  }
  if (question['kind'] === 'allow' && question['client'] === 'cli') {
    const scope = text(question, 'scope');
    say(
      `keyturn: may \`keyturn token\`, and so any program you run, reach ${text(question, 'resource')}${scope ? ` (${scope})` : ''}?`,
    );
    say(`  Answer in another terminal: keyturn answer ${text(question, 'id')} yes   (or no, or later)`);
  }
}

type Fields = Readonly<Record<string, unknown>>;

function text(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

/** The broker is proven; its answer is still read with care, without a schema library in the lean path. */
function questionsOf(answer: unknown): Fields[] {
  const list = isFields(answer) ? answer['interactions'] : undefined;
  return Array.isArray(list) ? list.filter(isFields) : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
