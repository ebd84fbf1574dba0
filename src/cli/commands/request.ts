/** `keyturn request`: what waits for your approval. */
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import { ask, askWhere } from '../broker/request.ts';
import { durationFrom, UsageError, wholeId, scopeFrom } from '../terminal/arguments.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { print, printJson, say } from '../terminal/output.ts';
import { accountOption, forOption, jsonOption, scopeOption } from '../terminal/statement.ts';
import { otherAccounts } from '../words/account-note.ts';
import { type Question, requestLines } from '../words/request-lines.ts';

const listRequests = defineCommand(
  {
    name: 'request list',
    summary: 'List the requests that wait for you',
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
  },
);

const approveRequest = defineCommand(
  {
    name: 'request approve',
    summary: 'Approve a request',
    operands: [{ name: 'ID' }],
    options: {
      once: { type: 'boolean', summary: 'for one token; not with --this-run or --for' },
      'this-run': {
        type: 'boolean',
        summary: 'until the app quits or disconnects, or --for is over',
      },
      for: forOption('; default: cli 1h, others until revoked'),
      scope: scopeOption('only this scope, of those requested'),
      account: accountOption('the account, if the request asks which one the app uses'),
    },
    about:
      'Approve a request. Before you pair an app, compare the code that it shows. While the Keyturn app runs, approve in its window.',
    notes: ['The options but --account apply only to an app’s request for access.'],
    examples: ['keyturn request approve 1a2b', 'keyturn request approve 1a2b --this-run --for 30m'],
  },
  async ({ options, operands: [id] }) => {
    const isRun = options['this-run'] === true;
    if (options.once && (isRun || options.for !== undefined)) {
      throw new UsageError('--once goes with neither --this-run nor --for');
    }
    const seconds = options.for === undefined ? undefined : durationFrom(options.for, '--for');
    const limits =
      isRun || seconds !== undefined ? { ...(isRun && { run: true as const }), seconds } : undefined;
    const { id: whole, request, open } = await requestNamed(id);
    if (request?.kind === 'signIn' || request?.kind === 'device')
      throw new KeyturnError('invalid_request', 'A sign-in is approved on its own page, in your browser.', {
        hint: `\`keyturn request\` shows the page. To cancel the sign-in: keyturn request deny ${shellWord(whole)}`,
      });
    await ask('request.answer', {
      id: whole,
      answer: 'approve',
      ...scopeFrom(options.scope),
      duration: options.once ? { once: true } : limits,
      account: options.account,
    });
    if (request?.kind === 'url' && request.url !== undefined) {
      say('keyturn: the page opens in your browser. If none opened, visit:');
      say(request.url);
    }
    // For a user at a terminal; a script lists the requests itself.
    if (request?.kind === 'pair' && process.stderr.isTTY) await sayNext(request, open);
  },
);

const denyRequest = defineCommand(
  {
    name: 'request deny',
    summary: 'Deny a request, or cancel a sign-in',
    operands: [{ name: 'ID' }],
    options: { remember: { type: 'boolean', summary: 'deny this access from now on' } },
    about: 'Deny a request, or cancel a sign-in.',
    notes: [
      'Without --remember the app may ask for access again. `keyturn app allow` and `keyturn app revoke` undo a remembered denial.',
    ],
    examples: ['keyturn request deny 1a2b', 'keyturn request deny 1a2b --remember'],
  },
  async ({ options, operands: [id] }) => {
    const { id: whole, request } = await requestNamed(id);
    await ask('request.answer', { id: whole, answer: options.remember ? 'deny' : 'dismiss' });
    if (request?.kind === 'allow' && !options.remember)
      say(
        `keyturn: ${quoted(request.app ?? 'the app')} may ask again. To deny its next request permanently: keyturn request deny ID --remember`,
      );
  },
);

export const command = defineNoun(
  'request',
  'List, approve and deny requests that wait for you',
  { list: listRequests, approve: approveRequest, deny: denyRequest },
  'list',
);

/** A question that names the account which an approval would give. */
const isOffer = ({ kind, account }: Question): boolean => kind === 'allow' && account !== undefined;

async function openRequests(): Promise<readonly Question[]> {
  return (await ask('request.list', {})).requests;
}

/** `request` is undefined for an id that no open request has: the broker refuses that one. */
async function requestNamed(text: string): Promise<{
  readonly id: string;
  readonly request: Question | undefined;
  readonly open: readonly Question[];
}> {
  if (text === '') throw new UsageError('ID is empty; `keyturn request` lists the open requests');
  const open = await openRequests();
  const ids = open.map((one) => one.id);
  const id = wholeId(text, ids);
  return { id, request: open.find((one) => one.id === id), open };
}

/** Milliseconds between two looks, and how many: an app that was just paired asks at once, or when it is used. */
const [lookEvery, looks] = [200, 10] as const;

/** A pairing gives no access: most apps ask for it next. */
async function sayNext({ app = 'the app' }: Question, before: readonly Question[]): Promise<void> {
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
