/** From the start of the bridge's process to its answer to `initialize`, beside `mcp-remote` with a token that stands. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { isSmoke } from '../form.ts';
import { inTurn, type Measurement } from '../row.ts';
import { bridgeCommand, initialize, remoteCommand } from '../workshop.ts';

export const bridgeStart: Measurement = {
  name: 'bridge-start',
  async measure({ world }) {
    const { home, ours, resource } = await world();
    const connection = await ours();
    const { access_token } = await connection.getToken({ resource });
    connection.close();
    const remote = remoteCommand(home, resource, access_token);
    const figures = await inTurn(isSmoke ? 1 : 15, {
      ours: async () => answered(bridgeCommand(resource), home.env),
      'mcp-remote': async () => (remote ? answered(remote, home.env) : Number.NaN),
    });
    return {
      name: 'bridge-start',
      what: 'start of keyturn bridge to its answer to initialize',
      unit: 'ms',
      ...figures,
      goals: [{ of: 'mcp-remote', atMost: 1 }],
    };
  },
};

/** Milliseconds until the process has answered; its end isn't measured. */
async function answered(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const from = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  child.stdin.write(`${JSON.stringify(initialize)}\n`);
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [unknown];
  const time = performance.now() - from;
  if (!Buffer.isBuffer(line)) throw new Error(`${args[0]} ended without an answer`);
  child.stdin.end();
  child.kill();
  await ended;
  return time;
}
