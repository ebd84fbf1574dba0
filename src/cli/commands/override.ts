/** `keyturn override SERVER RULE on|off`: waives one rule for one server that errs, or confirms one private host. */
import { isIPv6 } from 'node:net';
import { exitCodes, quoted } from '../../base/errors.ts';
import { parse, usage } from '../terminal/arguments.ts';
import { ask } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';

const help = `Usage: keyturn override SERVER issuer-mismatch|no-resource|no-pkce-metadata|audience on|off
       keyturn override HOST private-address on|off
Waive one rule of the specification for one server that errs. SERVER is a
protected server's endpoint URL, or an issuer. Off by default; \`keyturn list\`
and \`keyturn status\` show what is on. PKCE itself is never turned off.

  issuer-mismatch   its metadata states another issuer than the one asked for
  no-resource       it refuses the resource parameter, so leave it out
  no-pkce-metadata  its metadata says nothing about PKCE
  audience          its tokens name another server, which this one could then
                    use them at
  private-address   this host belongs to your own network: its name may have
                    an address that isn't public, and servers may lead to it

  -h, --help  show this

Each of the first four breaks a MUST: ask whoever runs the server to mend it.

Examples:
  keyturn override https://login.example/tenant issuer-mismatch on
  keyturn override tools.intern.example private-address on
`;

const rules = ['issuer-mismatch', 'no-resource', 'no-pkce-metadata', 'audience', 'private-address'] as const;

export const command: Command = {
  help,
  async run(args) {
    const { positionals } = parse(args, {}, { names: ['SERVER', 'RULE', 'on|off'], command: 'override' });
    const [named = '', rule, state] = positionals;
    const name = rules.find((known) => known === rule);
    if (!name) throw usage(`RULE is one of ${rules.join(', ')}; not ${quoted(rule ?? '')}`, 'override');
    if (state !== 'on' && state !== 'off')
      throw usage(`the last word is on or off, not ${quoted(state ?? '')}`, 'override');
    const server = name === 'private-address' ? urlOfHost(named) : named;
    await ask('override.set', { server, name, on: state === 'on' });
    return exitCodes.ok;
  },
};

/** A host may be typed alone; an address of IPv6 also without its brackets. */
function urlOfHost(text: string): string {
  if (text.includes('://')) return text;
  return `https://${isIPv6(text) ? `[${text}]` : text}`;
}
