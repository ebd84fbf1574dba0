/** `keyturn app remove APP`: its key is no longer valid. */
import { exitCodes } from '../../../base/errors.ts';
import { ask } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { say } from '../../terminal/output.ts';
import { sayNothingRevoked } from '../../words/permission-end.ts';

export const removeApp = defineCommand(
  {
    name: 'app remove',
    summary: 'Remove an app with its app key and its permissions',
    operands: [{ name: 'APP' }],
    options: {},
    about:
      'Remove an app: its app key, its permissions and its connections; of cli only the permissions. Sign-ins stay.',
    examples: ['keyturn app remove my-editor'],
  },
  async ({ operands: [app] }) => {
    await ask('app.remove', { app });
    if (app === 'cli' && process.stdout.isTTY)
      say(
        'keyturn: all permissions of cli have ended. It has no pairing: every keyturn command is still cli.',
      );
    sayNothingRevoked('keyturn logout URL');
    return exitCodes.ok;
  },
);
