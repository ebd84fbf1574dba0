/** `keyturn request list`: the approval requests that wait for you. */
import { exitCodes } from '../../../base/errors.ts';
import { askWhere } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { print, printJson, say } from '../../terminal/output.ts';
import { jsonOption } from '../../terminal/statement.ts';
import { requestLines } from '../../words/request-lines.ts';

export const listRequests = defineCommand(
  {
    name: 'request list',
    summary: 'List the requests that wait for you',
    operands: [],
    options: { json: jsonOption('them') },
    about: 'List the requests that wait for you, and how to answer each.',
    examples: ['keyturn request', 'keyturn request list --json'],
  },
  async ({ options }) => {
    const { answer, isKeyturnApp } = await askWhere('request.list', {});
    const { requests: interactions } = answer;
    if (options.json) printJson(interactions);
    else if (interactions.length === 0) say('Nothing waits for you.');
    else for (const line of interactions.flatMap((one) => requestLines(one, isKeyturnApp))) print(line);
    return exitCodes.ok;
  },
);
