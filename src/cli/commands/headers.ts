/**
 * `keyturn headers URL`: the headers that authorize a request, for clients that run a command to get them.
 *
 * Invariant: stdout gets one JSON object of texts and nothing else. The command ends before its client gives up on
 * it; a question that it raised stays.
 */
import type { TokenResult } from '../../ipc/wire/token-messages.ts';
import { askedBy } from '../apps/asked.ts';
import { credentialWithin } from '../apps/credential-within.ts';
import { resourceFrom, waitFrom } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { print, say } from '../terminal/output.ts';
import {
  asOption,
  timeoutOption,
  noInputOption,
  validityOption,
  tokenExits,
  tokenOptions,
} from '../terminal/token-options.ts';

/** Seconds. Claude Code ends its `headersHelper` after 10. */
const defaultTimeout = 8;

/** Seconds: time to connect and to work for a while. Most servers issue tokens for an hour. */
const defaultValidity = 300;

export const command = defineCommand(
  {
    name: 'headers',
    summary: 'Print the headers for requests to an MCP server, as JSON',
    operands: [{ name: 'URL' }],
    options: {
      ...tokenOptions(),
      'min-validity': validityOption('a token', '5m'),
      as: asOption,
      'no-input': noInputOption,
      timeout: timeoutOption('how long to wait', '8s'),
    },
    about:
      'Print {"Authorization": "Bearer …"} for an MCP server, or the header of its API key, for MCP clients that run a command to get their headers.',
    notes: [
      'Without --as it asks as the app cli, which needs a permission once: `keyturn app allow cli URL`.',
      'The header is valid as long as its token. A client that keeps its connection longer has to reconnect, or to use `keyturn bridge`.',
      "If you don't answer in time, the request stays open for ten minutes.",
    ],
    exitCodes: { 0: 'headers', ...tokenExits },
    examples: [
      'keyturn headers https://notes.example/mcp',
      'keyturn headers https://notes.example/mcp --as my-editor',
    ],
  },
  async ({ options, operands: [resource] }) => {
    const validity = waitFrom(options['min-validity'], '--min-validity');
    const timeout = waitFrom(options.timeout, '--timeout') ?? defaultTimeout;
    const { as, params } = askedBy(options, resourceFrom(resource), validity ?? defaultValidity);
    const asked = { as, params: { ...params, detached: true } };
    const given = await credentialWithin(asked, {
      within: timeout * 1000,
      again: 'run this again, or let your client reconnect',
    });
    if (!given) return print('{}');
    if ('kind' in given) return print(JSON.stringify({ [given.header]: given.value }));
    print(JSON.stringify({ Authorization: `Bearer ${given.access_token}` }));
    sayLifetime(given, validity);
  },
);

/** A server may issue none but shorter tokens: that is told only to who named a time. */
function sayLifetime({ expires_in: left }: TokenResult, validity: number | undefined): void {
  if (left === undefined) return;
  if (validity !== undefined && left < validity) {
    say(
      `keyturn: this header is good for ${left} s, less than ${validity} s (--min-validity). Keyturn has no token that lives longer.`,
    );
  } else if (process.stderr.isTTY) {
    say(`keyturn: this header is good for ${left} s. A connection that lives longer needs a new one.`);
  }
}
