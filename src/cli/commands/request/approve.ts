/** `keyturn request approve ID`: for how long, and for what. */
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodes, KeyturnError, quoted, shellWord } from '../../../base/errors.ts';
import { durationFrom, scopeFrom, UsageError } from '../../terminal/arguments.ts';
import { ask } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { say } from '../../terminal/output.ts';
import { accountOption, forOption, scopeOption } from '../../terminal/statement.ts';
import { type OpenRequest, openRequests, requestNamed } from '../../broker/open-requests.ts';

export const approveRequest = defineCommand(
  {
    name: 'request approve',
    summary: 'Approve a request',
    operands: [{ name: 'ID' }],
    options: {
      once: { type: 'boolean', summary: 'for one token' },
      'this-run': { type: 'boolean', summary: 'until the app quits or disconnects' },
      for: forOption('; without it, until you revoke it'),
      scope: scopeOption('exactly this scope, of those requested', '; no others'),
      account: accountOption('the account, if the request is which one an app uses'),
    },
    about:
      'Approve a request. Before you pair an app, compare the code that it shows. While the Keyturn app runs, approve in its window.',
    notes: [
      'The options limit the approval of an app that asks for tokens; --once goes with neither --this-run nor --for.',
    ],
    examples: ['keyturn request approve 1a2b', 'keyturn request approve 1a2b --this-run --for 30m'],
  },
  async ({ options, operands: [id] }) => {
    const isRun = options['this-run'] === true;
    if (options.once && (isRun || options.for !== undefined)) {
      throw new UsageError('--once goes with neither --this-run nor --for');
    }
    const duration = options.once ? ({ once: true } as const) : durationOf(isRun, options.for);
    const { id: whole, request, open } = await requestNamed(id);
    if (request?.kind === 'signIn' || request?.kind === 'device') throw finishedInBrowser(whole);
    await ask('request.answer', {
      id: whole,
      answer: 'approve',
      ...scopeFrom(options.scope),
      duration,
      account: options.account,
    });
    if (request?.kind === 'url' && request.url !== undefined) {
      say('keyturn: the page opens in your browser. If none opened, visit:');
      say(request.url);
    }
    // For a user at a terminal; a script lists the requests itself.
    if (request?.kind === 'pair' && process.stderr.isTTY) await sayNext(request, open);
    return exitCodes.ok;
  },
);

function finishedInBrowser(id: string): KeyturnError {
  return new KeyturnError('invalid_request', 'A sign-in is approved on its own page, in your browser.', {
    hint: `\`keyturn request\` shows the page. To cancel the sign-in: keyturn request deny ${shellWord(id)}`,
  });
}

/** Milliseconds between two looks, and how many: an app that was just paired asks at once, or when it is used. */
const [lookEvery, looks] = [200, 10] as const;

/** A pairing gives no access: most apps ask for it next. */
async function sayNext({ app = 'the app' }: OpenRequest, before: readonly OpenRequest[]): Promise<void> {
  for (let left = looks; left > 0; left -= 1) {
    const next = (await openRequests()).find(
      ({ id, kind, app: who }) => kind === 'allow' && who === app && !before.some((one) => one.id === id),
    );
    if (next) {
      const what = `${next.apiKey ? 'your API key for' : 'access to'} ${quoted(next.resource ?? 'a server')}`;
      return say(
        `keyturn: ${quoted(app)} is paired, and now asks for ${what}. Answer: keyturn request approve ${shellWord(next.id)}   (or deny)`,
      );
    }
    await sleep(lookEvery);
  }
  say(
    `keyturn: ${quoted(app)} is paired, and may reach no server yet. When it asks, \`keyturn request\` shows it.`,
  );
}

function durationOf(isRun: boolean, time: string | undefined): { run?: true; seconds?: number } | undefined {
  const seconds = time === undefined ? undefined : durationFrom(time, '--for');
  if (!isRun && seconds === undefined) return undefined;
  return { ...(isRun ? { run: true } : {}), seconds };
}
