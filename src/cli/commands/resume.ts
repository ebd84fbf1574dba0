/** `keyturn resume`: ends the pause of all access. */
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';

export const command = defineCommand(
  {
    name: 'resume',
    summary: 'Resume all access',
    about:
      'End the pause of all access: apps get what you allowed them again. While the Keyturn app runs, approve this in its window.',
    examples: ['keyturn resume'],
  },
  async () => {
    await ask('resume', {});
  },
);
