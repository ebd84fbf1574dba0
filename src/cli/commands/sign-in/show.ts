/** `keyturn sign-in show URL|ID`: the history of a sign-in, its state, what happens next. Never a token. */
import { reasonOf, shellWord } from '../../../base/errors.ts';
import type { ResultOf } from '../../../ipc/protocol/methods.ts';
import { ask } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { accountOption, jsonOption } from '../../terminal/statement.ts';
import { keyNamed, withSignIn } from '../../broker/named-sign-in.ts';
import { apiKeyPlaceWords, type ListedApiKey } from '../../words/api-key-rows.ts';
import { pauseEnd, print, printJson, printTable, when } from '../../terminal/output.ts';

type Explanation = ResultOf<'signIn.show'>['signIns'][number];

export const showSignIn = defineCommand(
  {
    name: 'sign-in show',
    summary: 'Show what happened to a sign-in, and what happens next',
    operands: [{ name: 'URL|ID' }],
    options: { account: accountOption("only this account's sign-in"), json: jsonOption('it') },
    about: 'Show a sign-in, or an API key: its state, what happens next, and which apps used it.',
    examples: ['keyturn sign-in show https://notes.example/mcp', 'keyturn sign-in show 1a2b'],
  },
  async ({ options, operands: [name] }) => {
    const key = options.account === undefined ? await keyAt(name) : undefined;
    if (key && !options.json) await showKey(key);
    const signIns = await explained(name, options.account, key !== undefined);
    if (options.json) printJson([...(key ? [key] : []), ...signIns]);
    else for (const explanation of signIns) show(explanation);
  },
);

async function explained(
  name: string,
  account: string | undefined,
  hasKey: boolean,
): Promise<readonly Explanation[]> {
  try {
    return (await withSignIn(name, account, (named) => ask('signIn.show', named))).signIns;
  } catch (error) {
    // A server that takes an API key mostly has no sign-in.
    if (hasKey && reasonOf(error) === 'not_found') return [];
    throw error;
  }
}

function show({
  signIn,
  signedInAt,
  now,
  next,
  lostRefresh,
  audience,
  dpopKey,
  clock,
  rejections = [],
  timeline,
}: Explanation): void {
  print(`${signIn.id}  ${signIn.endpoint}`);
  print(`signed in  ${when(signedInAt)} at ${signIn.issuer}, account ${signIn.account ?? '-'}`);
  print(`now        ${now}`);
  if (lostRefresh !== undefined) print(`refresh    ${lostRefresh}`);
  print(`next       ${next}`);
  if (audience !== undefined) print(`audience   ${audience}`);
  if (dpopKey !== undefined) print(`DPoP key   ${dpopKey}`);
  if (clock !== undefined) print(`clock      ${clock}`);
  for (const { app, operation, until } of rejections) {
    const use = operation === undefined ? '' : ` for ${operation}`;
    print(`rejected   The server rejected several tokens of ${app}${use}; the next one after ${when(until)}`);
  }
  showTimeline(timeline);
}

/** A key, and the newest rows of the log about it. */
interface ExplainedApiKey {
  readonly apiKey: ListedApiKey;
  /** As in the explanation of a sign-in; oldest first. */
  readonly timeline: Explanation['timeline'];
}

async function keyAt(name: string): Promise<ExplainedApiKey | undefined> {
  const key = keyNamed(name, (await ask('apiKey.list', {})).apiKeys);
  return key && { apiKey: key, timeline: await timelineOf(key) };
}

/** Rows of the log that are looked through, and rows that are shown. */
const [searched, shown] = [1000, 40] as const;

async function timelineOf({ resource }: ListedApiKey): Promise<ExplainedApiKey['timeline']> {
  const { rows } = await ask('audit.tail', { count: searched });
  return (
    rows
      .filter(
        ({ endpoint, event, outcome = '' }) =>
          endpoint === resource && (event === 'apiKey' || outcome.startsWith('key: ')),
      )
      // A row for repeats is written after their minute, and stands where the last of them was.
      .toSorted((one, other) => one.time - other.time)
      .slice(-shown)
      .map(({ time, event, outcome = '', app, count }) => ({
        at: Math.floor(time / 1000),
        event,
        outcome,
        app,
        count,
      }))
  );
}

async function showKey({ apiKey: key, timeline }: ExplainedApiKey): Promise<void> {
  const { resource, setAt, rejectedAt, unchecked, apps } = key;
  print(`API key    ${resource}`);
  print(
    `set        ${when(setAt)}${unchecked ? ', without asking whether the server offers a sign-in' : ''}`,
  );
  print(`goes in    ${apiKeyPlaceWords(key)}`);
  print(`apps       ${apps.join(', ') || 'none may have it'}`);
  print(
    rejectedAt === undefined
      ? 'now        Apps that may have it get it. Keyturn knows of no end.'
      : `rejected   The server rejected it ${when(rejectedAt)}. Make a new one there, and set it: keyturn api-key set ${shellWord(resource)}`,
  );
  const { pause } = await ask('status', {});
  if (pause) print(`paused     You paused all access ${pauseEnd(pause)}.`);
  showTimeline(timeline);
}

function showTimeline(timeline: Explanation['timeline']): void {
  if (timeline.length === 0) return;
  printTable(
    ['WHEN', 'EVENT', 'OUTCOME', 'APP'],
    timeline.map(({ at, event, outcome, app, count }) => [
      when(at),
      count === undefined ? event : `${event} ×${count}`,
      outcome,
      app ?? '-',
    ]),
  );
}
