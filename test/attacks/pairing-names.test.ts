/** Attack: a new program takes a name that a user would take for the name of another program. */
import { describe, expect, it } from 'vitest';
import { Apps, appSchema } from '../../src/broker/records/app.ts';
import { RawClient, startRig } from '../ipc/rig.ts';
import { listOf } from '../../src/store/home-document.ts';
import { testDocument } from '../broker/rig.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const forward = { label: 'box' };

async function paired(): Promise<Apps> {
  const document = testDocument(temporaryFolder());
  const records = listOf(document, 'apps', appSchema);
  await document.verify();
  const clients = new Apps(records);
  for (const name of ['editor', 'Ledger', 'agent-10']) await clients.add(name, 0);
  await clients.add('token', 0, { forward });
  return clients;
}

describe('a program that asks to be paired', () => {
  it.each([
    ['editor', 'editor'],
    ['edltor', 'editor'],
    ['c1i', 'cli'],
    ['1edger', 'Ledger'],
    ['agent-1O', 'agent-10'],
    ['token@B0X', 'token@box'],
  ])('is refused the name %s, because there is %s', async (name, other) => {
    const clients = await paired();
    expect(() => clients.refuseTaken(name, 0)).toThrow(
      expect.objectContaining({ reason: 'conflict', message: expect.stringContaining(`"${other}"`) }),
    );
  });

  it('is refused a name that another one took while the user was asked', async () => {
    const clients = await paired();
    await expect(clients.add('Editor', 1)).rejects.toMatchObject({ reason: 'conflict' });
    // From elsewhere it is another name.
    await expect(clients.add('editor', 1, { forward })).resolves.toMatchObject({ name: 'editor' });
  });

  it.each(['e\u{200B}ditor', 'Почта', 'editor@box', '-x', '', 'x'.repeat(65), '../x', 'a\nb'])(
    'is refused other characters on the wire, before anybody is asked: %j',
    async (name) => {
      const asked: string[] = [];
      const rig = await startRig({
        pair: async (request) => {
          asked.push(request.name);
          throw new Error('nobody is asked');
        },
      });
      const raw = new RawClient(rig.socket);
      const params = { versions: [1], name, socketId: rig.server.socketId };
      raw.send({ jsonrpc: '2.0', id: 1, method: 'pair', params });
      const answer = await raw.next();
      expect(answer).toMatchObject({
        error: { data: { reason: name === '' ? 'handshake_failed' : 'invalid_request' } },
      });
      expect(asked).toEqual([]);
    },
  );
});
