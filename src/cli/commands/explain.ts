/** `keyturn explain RESOURCE|GRANT`: what became of a grant, how it stands, what happens next. Never a token. */
import { exitCodes } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { withGrant } from '../broker/named-grant.ts';
import { print, printJson, printTable, when } from '../terminal/output.ts';

type Explanation = Awaited<ReturnType<typeof ask<'grant.explain'>>>['grants'][number];

export const command = defineCommand(
  {
    name: 'explain',
    summary: 'what happened to a grant, and what happens next',
    operands: [{ name: 'RESOURCE|GRANT' }],
    options: {
      account: { type: 'string', value: 'ACCOUNT', summary: "only this account's grant" },
      json: { type: 'boolean', summary: 'print it as JSON' },
    },
    about:
      'Explain a grant: when you signed in, how it stands, what happens next, and who used it. Says so where a refresh was cut off.',
    examples: ['keyturn explain https://notes.example/mcp'],
  },
  async ({ options, operands: [name] }) => {
    const { grants } = await withGrant(name, options.account, (named) => ask('grant.explain', named));
    if (options.json) printJson(grants);
    else for (const explanation of grants) show(explanation);
    return exitCodes.ok;
  },
);

function show({
  grant,
  signedInAt,
  now,
  next,
  attempt,
  audience,
  clock,
  refusals = [],
  timeline,
}: Explanation): void {
  print(`${grant.id}  ${grant.endpoint}`);
  print(`signed in  ${when(signedInAt)} at ${grant.issuer}, account ${grant.account ?? '-'}`);
  print(`now        ${now}`);
  if (attempt !== undefined) print(`attempt    ${attempt}`);
  print(`next       ${next}`);
  if (audience !== undefined) print(`audience   ${audience}`);
  if (clock !== undefined) print(`clock      ${clock}`);
  for (const { client, operation, until } of refusals) {
    const use = operation === undefined ? '' : ` for ${operation}`;
    print(
      `refused    The server refused several tokens of ${client}${use}; the next one after ${when(until)}`,
    );
  }
  if (timeline.length === 0) return;
  printTable(
    ['WHEN', 'EVENT', 'OUTCOME', 'PROGRAM'],
    timeline.map(({ at, event, outcome, client, count }) => [
      when(at),
      count === undefined ? event : `${event} ×${count}`,
      outcome,
      client ?? '-',
    ]),
  );
}
