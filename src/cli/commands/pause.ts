/** `keyturn pause`: no program gets a token or an API key until you resume, or until a time. */
import { exitCodes } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { durationFrom } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { pauseEnd, say } from '../terminal/output.ts';

export const command = defineCommand(
  {
    name: 'pause',
    summary: 'pause all access until you resume it',
    operands: [],
    options: {
      for: {
        type: 'string',
        value: 'TIME',
        summary: 'for this long: 90s, 30m, 8h, 2d',
        more: '; without it, until you resume it',
      },
    },
    usage: ['pause [--for TIME]'],
    about:
      'Pause all access: no program gets a token or an API key, and nothing is refreshed. Nobody is asked about a request meanwhile. Grants and permissions stay. The pause outlives a restart, and is never shortened: if one stands that ends later, that one stays.',
    notes: [
      'A token that a program already has stays good until it expires, and an API key until you end it at its server. To end tokens now: keyturn revoke.',
    ],
    examples: ['keyturn pause', 'keyturn pause --for 1h'],
  },
  async ({ options }) => {
    const now = Math.floor(Date.now() / 1000);
    const until = options.for === undefined ? {} : { until: now + durationFrom(options.for, '--for') };
    const pause = await ask('access.pause', until);
    say(`keyturn: all access is paused ${pauseEnd(pause)}.`);
    return exitCodes.ok;
  },
);
