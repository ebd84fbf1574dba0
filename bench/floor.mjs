/**
 * The floor of `npm run bench`: what a Node server on a Unix socket costs that does nothing else. Reads JSON lines and
 * answers each with a line of the same length as a token's answer. It authenticates nobody.
 *
 * It is plain JavaScript: where Node strips types, its compiler stays in the process, which takes 20 MB and would flatter
 * what stands beside the floor.
 */
import net from 'node:net';
import process from 'node:process';

const [socket = '', size = '0'] = process.argv.slice(2);
const padding = 'x'.repeat(Number(size));

net
  .createServer((connection) => {
    let rest = '';
    connection.setEncoding('utf8').on('error', () => undefined);
    connection.on('data', (text) => {
      const lines = (rest + String(text)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { id } = JSON.parse(line);
        connection.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: { access_token: padding } })}\n`);
      }
    });
  })
  .listen(socket, () => process.stdout.write('ready\n'));
