/** `keyturn lock`: locks the vault of the running broker. Starts none. */
import { call } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { connectIfRunning } from '../broker/connection.ts';
import { say } from '../terminal/output.ts';

export const command = defineCommand(
  {
    name: 'lock',
    summary: 'Lock the vault, where Keyturn keeps tokens and API keys',
    about:
      'Lock the vault until you unlock it: the broker finishes its refreshes, forgets API keys and tokens, and apps get no tokens.',
    examples: ['keyturn lock'],
  },
  async () => {
    const connection = await connectIfRunning();
    if (!connection) return say('keyturn: no broker runs for this home; there is nothing to lock.');
    try {
      const { vaultState } = await call(connection, 'status', {});
      await call(connection, 'vault.lock', {});
      if (vaultState.state === 'locked') say('keyturn: the vault was locked already.');
    } finally {
      connection.close();
    }
  },
);
