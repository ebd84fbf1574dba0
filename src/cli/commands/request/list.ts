/** `keyturn request list`: the approval requests that wait for you. */
import { exitCodes } from '../../../base/errors.ts';
import { ask, askWhere } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { print, printJson, say } from '../../terminal/output.ts';
import { jsonOption } from '../../terminal/statement.ts';
import { otherAccounts } from '../../words/account-note.ts';
import { type Question, requestLines } from '../../words/request-lines.ts';

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
    const { requests } = answer;
    if (options.json) printJson(requests);
    else if (requests.length === 0) say('Nothing waits for you.');
    else {
      const isOffering = !isKeyturnApp && requests.some(isOffer);
      const signIns = isOffering ? (await ask('signIn.list', {})).signIns : [];
      for (const one of requests) {
        const others = isOffer(one) ? otherAccounts(one, signIns) : [];
        for (const line of requestLines(one, isKeyturnApp, others)) print(line);
      }
    }
    return exitCodes.ok;
  },
);

/** A question that names the account which an approval would give. */
const isOffer = ({ kind, account }: Question): boolean => kind === 'allow' && account !== undefined;
