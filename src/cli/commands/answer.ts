/** `keyturn answer ID yes|no|later`: and, with a yes, for how long and for what. */
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodes, quoted, shellWord } from '../../base/errors.ts';
import { durationFrom, scopeFrom, UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { say } from '../terminal/output.ts';
import { wholeId } from '../terminal/short-id.ts';

export const command = defineCommand(
  {
    name: 'answer',
    summary: 'answer a question',
    operands: [{ name: 'ID' }, { name: 'yes|no|later', values: ['yes', 'no', 'later'] }],
    options: {
      once: { type: 'boolean', summary: "for one token of the program's run that asked" },
      'this-run': {
        type: 'boolean',
        summary: "for the program's run that asked: ends with its connection",
      },
      for: { type: 'string', value: 'TIME', summary: 'for this long: 90s, 30m, 8h, 2d' },
      scope: {
        type: 'string',
        value: '"A B"',
        summary: 'exactly these scopes in place of those in the question',
        more: '; no others',
      },
      account: { type: 'string', value: 'ACCOUNT', summary: 'of a choice: the account' },
    },
    about:
      'Answer a question that `keyturn pending` shows. "no" is remembered, "later" isn\'t. Before you pair a program, compare the code it shows. Where the app is the broker, a yes counts in Keyturn\'s window only.',
    notes: [
      'The options go with a yes to a program that asks for tokens; --once without --this-run and --for. --account goes with a yes to the question which account a program uses.',
    ],
    examples: ['keyturn answer 1a2b3c4d yes --this-run --for 30m'],
  },
  async ({ options, operands: [id, answer] }) => {
    const isRun = options['this-run'] === true;
    if (options.once && (isRun || options.for !== undefined)) {
      throw new UsageError('--once goes with neither --this-run nor --for');
    }
    if (id === '') throw new UsageError('ID is empty; keyturn pending lists the open questions');
    const lease = options.once ? ({ once: true } as const) : leaseFrom(isRun, options.for);
    const open = await openQuestions();
    const whole = wholeId(
      id,
      open.map((question) => question.id),
    );
    const question = answer === 'yes' ? open.find((one) => one.id === whole) : undefined;
    await ask('interaction.answer', {
      id: whole,
      answer,
      ...scopeFrom(options.scope),
      lease,
      account: options.account,
    });
    if (question?.kind === 'url' && question.url !== undefined) {
      say('keyturn: the page opens in your browser. If none opened, visit:');
      say(question.url);
    }
    // For a person at a terminal; a script looks at what is pending.
    if (question?.kind === 'pair' && process.stderr.isTTY) await sayNext(question, open);
    return exitCodes.ok;
  },
);

type Question = Awaited<ReturnType<typeof openQuestions>>[number];

async function openQuestions() {
  return (await ask('interaction.list', {})).interactions;
}

/** Milliseconds between two looks, and how many: a program that was just paired asks at once, or when it is used. */
const [lookEvery, looks] = [200, 10] as const;

/** A pairing by itself gives no access: most programs ask for it next. */
async function sayNext({ client = 'the program' }: Question, before: readonly Question[]): Promise<void> {
  for (let left = looks; left > 0; left -= 1) {
    const next = (await openQuestions()).find(
      ({ id, kind, client: who }) =>
        kind === 'allow' && who === client && !before.some((one) => one.id === id),
    );
    if (next) {
      const what = `${next.key ? 'your API key for' : 'access to'} ${quoted(next.resource ?? 'a server')}`;
      return say(
        `keyturn: ${quoted(client)} is paired, and now asks for ${what}. Answer: keyturn answer ${shellWord(next.id)} yes   (or no)`,
      );
    }
    await sleep(lookEvery);
  }
  say(
    `keyturn: ${quoted(client)} is paired, and may reach no server yet. When it asks, \`keyturn pending\` shows the question.`,
  );
}

function leaseFrom(isRun: boolean, time: string | undefined): { run?: true; seconds?: number } | undefined {
  const seconds = time === undefined ? undefined : durationFrom(time, '--for');
  if (!isRun && seconds === undefined) return undefined;
  return { ...(isRun ? { run: true } : {}), seconds };
}
