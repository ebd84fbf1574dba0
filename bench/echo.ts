/**
 * The peer of bench/hot-path.ts: a broker that does nothing. Reads JSON lines from a Unix socket and
 * answers each with the same line of the same length as a token answer.
 */
import net from 'node:net';
import process from 'node:process';

const [socket = '', size = '0'] = process.argv.slice(2);
const padding = 'x'.repeat(Number(size));

net
  .createServer((connection) => {
    let rest = '';
    connection.setEncoding('utf8').on('error', () => undefined);
    connection.on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { id } = JSON.parse(line) as { id: number };
        connection.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: { access_token: padding } })}\n`);
      }
    });
  })
  .listen(socket, () => process.stdout.write('ready\n'));
