/** `keyturn answer ID yes|no|later`: and, with a yes, for how long and for what. */
import { exitCodes, quoted } from '../../base/errors.ts';
import { durationFrom, parse, scopeFrom, usage } from '../terminal/arguments.ts';
import { ask } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';

const help = `Usage: keyturn answer ID yes|no|later [OPTION]...
Answer a question that \`keyturn pending\` shows. "no" is remembered, "later"
isn't. Before you pair a program, compare the code it shows. Where the app is
the broker, a yes counts in Keyturn's window only.

      --once         for one token of the program's run that asked
      --this-run     for the program's run that asked: ends with its connection
      --for TIME     for so long: 90s, 30m, 8h, 2d
      --scope "A B"  exactly these scopes in place of those in the question;
                     none beyond those
  -h, --help         show this

The options go with a yes to a program that asks for tokens; --once without
--this-run and --for.

Example:
  keyturn answer 1a2b3c4d yes --this-run --for 30m
`;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse(
      args,
      {
        once: { type: 'boolean' },
        'this-run': { type: 'boolean' },
        for: { type: 'string' },
        scope: { type: 'string' },
      },
      { names: ['ID', 'yes|no|later'], command: 'answer' },
    );
    const [id = '', answer = ''] = positionals;
    if (answer !== 'yes' && answer !== 'no' && answer !== 'later') {
      throw usage(`the answer is yes, no or later, not ${quoted(answer)}`, 'answer');
    }
    const isRun = values['this-run'] === true;
    if (values.once && (isRun || values.for !== undefined)) {
      throw usage('--once goes with neither --this-run nor --for', 'answer');
    }
    const lease = values.once ? ({ once: true } as const) : leaseFrom(isRun, values.for);
    await ask('interaction.answer', {
      id,
      answer,
      ...scopeFrom(values.scope),
      ...(lease === undefined ? {} : { lease }),
    });
    return exitCodes.ok;
  },
};

function leaseFrom(isRun: boolean, time: string | undefined): { run?: true; seconds?: number } | undefined {
  const seconds = time === undefined ? undefined : durationFrom(time, '--for', 'answer');
  if (!isRun && seconds === undefined) return undefined;
  return { ...(isRun ? { run: true } : {}), ...(seconds === undefined ? {} : { seconds }) };
}
