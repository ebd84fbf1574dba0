/** `keyturn request deny ID`: denies an approval request, or cancels a sign-in. */
import { exitCodes } from '../../../base/errors.ts';
import { ask } from '../../broker/request.ts';
import { requestNamed } from '../../broker/open-requests.ts';
import { defineCommand } from '../../terminal/command.ts';

export const denyRequest = defineCommand(
  {
    name: 'request deny',
    summary: 'Deny a request, or cancel a sign-in',
    operands: [{ name: 'ID' }],
    options: { remember: { type: 'boolean', summary: 'deny the same request of this app from now on' } },
    about: 'Deny a request, or cancel a sign-in.',
    notes: [
      'Without --remember the app may ask again. `keyturn app allow` and `keyturn app revoke` undo a remembered denial.',
    ],
    examples: ['keyturn request deny 1a2b', 'keyturn request deny 1a2b --remember'],
  },
  async ({ options, operands: [id] }) => {
    const { id: whole } = await requestNamed(id);
    await ask('request.answer', { id: whole, answer: options.remember ? 'deny' : 'dismiss' });
    return exitCodes.ok;
  },
);
