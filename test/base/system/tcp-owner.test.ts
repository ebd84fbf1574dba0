/** Whose program connects: the kernel's tables, row by row. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ownerOfPeer, userIn, type Connection } from '../../../src/base/system/tcp-owner.ts';

const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const row = (local: string, remote: string, uid: number): string =>
  `   0: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 1082 1 0000000000000000 100 0 0 10 0`;
const table = (...rows: string[]): string => [head, ...rows, ''].join('\n');

const v4 = '0100007F';
const v6 = '00000000000000000000000001000000';
const mapped = '0000000000000000FFFF00000100007F';
const otherLoopback = '0200007F';

/** A peer's port 0xB415 = 46101, ours 0x1F90 = 8080. */
const over4: Connection = { remoteAddress: '127.0.0.1', remotePort: 46_101, localPort: 8080 };
const over6: Connection = { ...over4, remoteAddress: '::1' };

describe('the uid of a peer', () => {
  it.each([
    ['an IPv4 socket', table(row(`${v4}:B415`, `${v4}:1F90`, 1000)), over4, 1000],
    ['an IPv6 socket', table(row(`${v6}:B415`, `${v6}:1F90`, 1001)), over6, 1001],
    ['an IPv6 socket with a mapped address', table(row(`${mapped}:B415`, `${mapped}:1F90`, 7)), over4, 7],
    [
      'the right one of several',
      table(
        row(`${v4}:1F90`, `${v4}:B415`, 1),
        row(`${v4}:B416`, `${v4}:1F90`, 2),
        row(`${v4}:B415`, `${v4}:1F91`, 3),
        row(`${otherLoopback}:B415`, `${v4}:1F90`, 4),
        row(`${v4}:B415`, `${otherLoopback}:1F90`, 5),
        row(`${v4}:B415`, `${v4}:1F90`, 6),
      ),
      over4,
      6,
    ],
    [
      'a port with leading zeros',
      table(row(`${v4}:0050`, `${v4}:0016`, 8)),
      { ...over4, remotePort: 80, localPort: 22 },
      8,
    ],
  ])('reads the uid of a peer for %s', (_name, text, connection, uid) => {
    expect(userIn(text, connection)).toBe(uid);
  });

  it.each([
    ['a table without rows', table()],
    ['a cut row', `${head}\n   0: ${v4}:B415`],
    ['our own end of the connection', table(row(`${v4}:1F90`, `${v4}:B415`, 1000))],
    ['the other family', table(row(`${v6}:B415`, `${v6}:1F90`, 1000))],
  ])('is unknown in %s', (_name, text) => {
    expect(userIn(text, over4)).toBeUndefined();
  });

  describe.runIf(process.platform === 'linux')('on this machine', () => {
    async function ownConnection(host: string): Promise<Connection> {
      const server = createServer().listen(0, host);
      await once(server, 'listening');
      const address = server.address();
      const port = address !== null && typeof address === 'object' ? address.port : 0;
      const client = connect(port, host);
      const [socket] = await once(server, 'connection');
      onTestFinished(() => {
        client.destroy();
        socket.destroy();
        server.close();
      });
      const { remoteAddress, remotePort, localPort } = socket;
      return { remoteAddress, remotePort, localPort };
    }

    it.each(['127.0.0.1', '::1'])('the peer of our own connection over %s is our own user', async (host) => {
      const connection = await ownConnection(host);
      expect(ownerOfPeer(connection)).toBe('own');
      expect(ownerOfPeer(connection, (process.getuid?.() ?? 0) + 1)).toBe('other');
    });
  });
});
