/** `keyturn answer ID yes|no|later`: and, with a yes, for how long and for what. */
import { exitCodes } from '../../base/errors.ts';
import { durationFrom, scopeFrom, UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { say } from '../terminal/output.ts';

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
    },
    about:
      'Answer a question that `keyturn pending` shows. "no" is remembered, "later" isn\'t. Before you pair a program, compare the code it shows. Where the app is the broker, a yes counts in Keyturn\'s window only.',
    notes: [
      'The options go with a yes to a program that asks for tokens; --once without --this-run and --for.',
    ],
    examples: ['keyturn answer 1a2b3c4d yes --this-run --for 30m'],
  },
  async ({ options, operands: [id, answer] }) => {
    const isRun = options['this-run'] === true;
    if (options.once && (isRun || options.for !== undefined)) {
      throw new UsageError('--once goes with neither --this-run nor --for');
    }
    const lease = options.once ? ({ once: true } as const) : leaseFrom(isRun, options.for);
    const page = answer === 'yes' ? await pageOf(id) : undefined;
    await ask('interaction.answer', {
      id,
      answer,
      ...scopeFrom(options.scope),
      ...(lease === undefined ? {} : { lease }),
    });
    if (page !== undefined) {
      say('keyturn: the page opens in your browser. If none opened, visit:');
      say(page);
    }
    return exitCodes.ok;
  },
);

/** The address that a yes to this question opens; undefined where it opens none. */
async function pageOf(wanted: string): Promise<string | undefined> {
  const { interactions } = await ask('interaction.list', {});
  return interactions.find(({ id, kind }) => id === wanted && kind === 'url')?.url;
}

function leaseFrom(isRun: boolean, time: string | undefined): { run?: true; seconds?: number } | undefined {
  const seconds = time === undefined ? undefined : durationFrom(time, '--for');
  if (!isRun && seconds === undefined) return undefined;
  return { ...(isRun ? { run: true } : {}), ...(seconds === undefined ? {} : { seconds }) };
}
