/** `keyturn override SERVER RULE on|off`: waives one rule for one server that errs, or confirms one private host. */
import { isIPv6 } from 'node:net';
import { exitCodes } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';

const rules = ['issuer-mismatch', 'no-resource', 'no-pkce-metadata', 'audience', 'private-address'] as const;

export const command = defineCommand(
  {
    name: 'override',
    summary: 'waive one rule for one server that breaks it',
    operands: [
      { name: 'SERVER' },
      { name: 'RULE', values: rules },
      { name: 'on|off', values: ['on', 'off'] },
    ],
    options: {},
    usage: [
      'override SERVER issuer-mismatch|no-resource|no-pkce-metadata|audience on|off',
      'override HOST private-address on|off',
    ],
    about:
      "Waive one rule of the specification for one server that breaks it. SERVER is a protected server's endpoint URL, or an issuer. Off by default; `keyturn list` and `keyturn status` show what is on. PKCE itself is never turned off.",
    terms: {
      'issuer-mismatch': 'its metadata states another issuer than the one asked for',
      'no-resource': 'it refuses the resource parameter, so leave it out',
      'no-pkce-metadata': 'its metadata says nothing about PKCE',
      audience: 'its tokens name another server: this one could use them there',
      'private-address':
        "this host belongs to your own network: its name may have an address that isn't public, and servers may lead to it",
    },
    notes: ['Each of the first four breaks a MUST: ask the operator of the server to mend it.'],
    examples: [
      'keyturn override https://login.example/tenant issuer-mismatch on',
      'keyturn override tools.intern.example private-address on',
    ],
  },
  async ({ operands: [named, name, state] }) => {
    const server = name === 'private-address' ? urlOfHost(named) : named;
    await ask('override.set', { server, name, on: state === 'on' });
    return exitCodes.ok;
  },
);

/** A host may be typed without a scheme; an address of IPv6 also without its brackets. */
function urlOfHost(text: string): string {
  if (text.includes('://')) return text;
  return `https://${isIPv6(text) ? `[${text}]` : text}`;
}
