/** `keyturn pause`: no app gets a token or an API key until you resume, or until a time. */
import { ask } from '../broker/request.ts';
import { durationFrom } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { forOption } from '../terminal/statement.ts';
import { pauseEnd, say } from '../terminal/output.ts';

export const command = defineCommand(
  {
    name: 'pause',
    summary: 'Pause all access to tokens and API keys',
    options: { for: forOption('; without it, until you resume it') },
    usage: ['pause [--for TIME]'],
    about:
      'Pause all access: no app gets a token or an API key, and nothing is refreshed. Sign-ins and permissions stay.',
    notes: [
      'A pause survives a restart and is never shortened: an earlier pause that ends later stays.',
      'What an app already has stays valid. To revoke tokens now: keyturn logout.',
    ],
    examples: ['keyturn pause', 'keyturn pause --for 1h'],
  },
  async ({ options }) => {
    const now = Math.floor(Date.now() / 1000);
    const until = options.for === undefined ? {} : { until: now + durationFrom(options.for, '--for') };
    const pause = await ask('pause', until);
    say(`keyturn: all access is paused ${pauseEnd(pause)}.`);
  },
);
