/** What a command does when the broker closes the connection in the middle of its request. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ask } from '../../../src/cli/broker/request.ts';
import { ownerKeyFile } from '../../../src/base/paths.ts';
import { writeAppKeyFile } from '../../../src/client/app-key-file.ts';
import { ownerId } from '../../../src/ipc/wire/handshake-messages.ts';
import { type Rig, startRig } from '../../ipc/rig.ts';

/** A server that closes the owner's connection instead of answering the first request. */
async function closingOnce(): Promise<{ readonly methods: string[] }> {
  const methods: string[] = [];
  const rig: Rig = await startRig({
    dispatch: async (_, method) => {
      methods.push(method);
      if (methods.length === 1) rig.server.closeConnectionsOf(ownerId);
      return { signIns: [] };
    },
  });
  vi.stubEnv('KEYTURN_HOME', path.dirname(rig.paths.config));
  mkdirSync(rig.paths.config, { recursive: true, mode: 0o700 });
  writeAppKeyFile(ownerKeyFile(rig.paths), rig.enrol(ownerId));
  return { methods };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a command whose broker closes the connection', () => {
  it('asks again if its method only reads', async () => {
    const { methods } = await closingOnce();
    expect(await ask('signIn.list', {})).toEqual({ signIns: [] });
    expect(methods).toEqual(['signIn.list', 'signIn.list']);
  });

  it('does not ask again if its method changes something', async () => {
    const { methods } = await closingOnce();
    await expect(ask('vault.lock', {})).rejects.toMatchObject({ reason: 'broker_unreachable' });
    expect(methods).toEqual(['vault.lock']);
  });
});
