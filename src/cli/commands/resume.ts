/** `keyturn resume`: ends the pause of all access. */
import { exitCodes } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';

export const command = defineCommand(
  {
    name: 'resume',
    summary: 'end the pause of all access',
    operands: [],
    options: {},
    about:
      'End the pause of all access: programs get again what you allowed them. Where the desktop app is the broker, this waits for your yes in its window.',
    examples: ['keyturn resume'],
  },
  async () => {
    await ask('access.resume', {});
    return exitCodes.ok;
  },
);
