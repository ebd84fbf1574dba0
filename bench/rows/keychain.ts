/** A token in memory, while the keychain stands still and a refresh waits for it: the process of the Secret Service is stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ownKeyring } from '../../test/vault/keychain/keyring.ts';
import { connect } from '../../src/client/index.ts';
import { BrokerHome } from '../broker-home.ts';
import { isSmoke } from '../form.ts';
import { inTurn, type Measurement } from '../row.ts';
import { slowestOf } from './hang.ts';

/** Milliseconds for which it stands still: less than the broker waits for it. */
const standsStill = 2000;

export const keychain: Measurement = {
  name: 'keychain',
  async measure({ world }) {
    const { ca, resource, otherResource } = await world();
    const keyring = await ownKeyring();
    const { DBUS_SESSION_BUS_ADDRESS: bus = '', XDG_RUNTIME_DIR: run = '' } = keyring.env;
    const home = new BrokerHome({
      KEYTURN_VAULT: 'keychain',
      DBUS_SESSION_BUS_ADDRESS: bus,
      XDG_RUNTIME_DIR: run,
    });
    try {
      home.trust(ca);
      await home.prepare(resource);
      await home.signIn(otherResource);
      const daemon = await keyring.daemonPid();
      const connection = async () => connect({ name: 'bench', env: home.env });
      const [asking, waiting] = [await connection(), await connection()];
      // A grant is compared with the vault once in a run: without this the first request would wait for the keychain.
      await asking.getToken({ resource: otherResource });
      const [turns, time] = isSmoke ? [1, 50] : [3, standsStill];
      const figures = await inTurn(turns, {
        ours: async () => {
          const { access_token } = await waiting.getToken({ resource });
          await waiting.rejectToken({ access_token, status: 401 });
          process.kill(daemon, 'SIGSTOP');
          try {
            // The refresh reads the refresh token, and keeps the new one, before it answers.
            const stuck = waiting.getToken({ resource });
            // The servers are in this process: their part would count as the broker's time.
            await sleep(300);
            const slowest = await slowestOf(asking, otherResource, time);
            process.kill(daemon, 'SIGCONT');
            await stuck;
            return slowest;
          } finally {
            process.kill(daemon, 'SIGCONT');
          }
        },
        idle: async () => slowestOf(asking, otherResource, time),
      });
      for (const each of [asking, waiting]) each.close();
      return {
        name: 'keychain',
        what: `token.get, 99th percentile, while a refresh waits for a keychain that stands still ${standsStill / 1000} s`,
        unit: 'ms',
        ...figures,
        goals: [{ of: 'idle', atMost: 2 }],
      };
    } finally {
      await home.close();
      await keyring.end();
    }
  },
};
