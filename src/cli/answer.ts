/** `keyturn answer ID yes|no|later`. */
import { exitCodes } from '../errors.ts';
import { parse, usage } from './arguments.ts';
import { ask } from './command.ts';
import type { Command } from './command.ts';

const help = `Usage: keyturn answer ID yes|no|later
Answer a question that \`keyturn pending\` shows. "no" is remembered, "later"
isn't. Before you pair a program, compare the code it shows.

  -h, --help  show this
`;

export const command: Command = {
  help,
  async run(args) {
    const { positionals } = parse(args, {}, { names: ['ID', 'yes, no or later'], command: 'answer' });
    const [id = '', answer = ''] = positionals;
    if (answer !== 'yes' && answer !== 'no' && answer !== 'later') {
      throw usage('the answer is yes, no or later', 'answer');
    }
    await ask('interaction.answer', { id, answer });
    return exitCodes.ok;
  },
};
