/** `keyturn override SERVER RULE on|off`: waives one rule for one server that errs. */
import { exitCodes } from '../errors.ts';
import { parse, usage } from './arguments.ts';
import { ask } from './command.ts';
import type { Command } from './command.ts';

const help = `Usage: keyturn override SERVER issuer-mismatch|no-resource|no-pkce-metadata on|off
Waive one rule of the specification for one server that errs. SERVER is a
protected server's endpoint URL, or an issuer. Off by default; \`keyturn list\`
and \`keyturn status\` show what is on. PKCE itself is never turned off.

  issuer-mismatch   its metadata states another issuer than the one asked for
  no-resource       it refuses the resource parameter, so leave it out
  no-pkce-metadata  its metadata says nothing about PKCE

  -h, --help  show this

Each of these breaks a MUST: ask whoever runs the server to mend it.
`;

const rules = ['issuer-mismatch', 'no-resource', 'no-pkce-metadata'] as const;

export const command: Command = {
  help,
  async run(args) {
    const { positionals } = parse(args, {}, { names: ['SERVER', 'RULE', 'on or off'], command: 'override' });
    const [server = '', rule, state] = positionals;
    const name = rules.find((known) => known === rule);
    if (!name) throw usage(`the rule is one of ${rules.join(', ')}`, 'override');
    if (state !== 'on' && state !== 'off') throw usage('say on or off', 'override');
    await ask('override.set', { server, name, on: state === 'on' });
    return exitCodes.ok;
  },
};
