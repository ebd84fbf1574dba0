/** `keyturn pending`: the questions that wait for the user. */
import { exitCodes } from '../errors.ts';
import { parse } from './arguments.ts';
import { ask } from './command.ts';
import type { Command } from './command.ts';
import { print, printJson, say } from './output.ts';

const help = `Usage: keyturn pending [--json]
Show the questions that wait for you, with what to type to answer them.

      --json  print them as JSON
  -h, --help  show this
`;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse(args, { json: { type: 'boolean' } }, { names: [], command: 'pending' });
    const { interactions } = await ask('interaction.list', {});
    if (values.json) printJson(interactions);
    else if (interactions.length === 0) say('Nothing waits for you.');
    else for (const question of interactions) print(describe(question));
    return exitCodes.ok;
  },
};

type Question = Awaited<ReturnType<typeof ask<'interaction.list'>>>['interactions'][number];

function describe(question: Question): string {
  const answer = `  keyturn answer ${question.id} yes|no|later`;
  switch (question.kind) {
    case 'allow':
      return `${question.id}  May ${question.client} reach ${question.resource}${question.scope ? ` with ${question.scope}` : ''}?\n${answer}`;
    case 'pair':
      return `${question.id}  ${question.client} wants to be paired. It must show the code ${question.code}.\n${answer}`;
    case 'login':
      return `${question.id}  Sign in at ${question.issuer} for ${question.resource}:\n  ${question.url}\n  keyturn answer ${question.id} no   calls it off`;
    case 'device':
      return `${question.id}  Sign in at ${question.issuer} for ${question.resource}: enter ${question.code} at\n  ${question.url}\n  keyturn answer ${question.id} no   calls it off`;
  }
}
