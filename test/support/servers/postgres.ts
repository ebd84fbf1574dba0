/**
 * A real PostgreSQL server for a test, in a temporary folder with its only socket. It ends with the test, by its pid,
 * and with the process that started it.
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

const installed = '/usr/lib/postgresql';

/** Where its programs are; undefined where the package isn't installed. */
export const postgresPrograms: string | undefined = (existsSync(installed) ? readdirSync(installed) : [])
  .toSorted((a, b) => Number(a) - Number(b))
  .map((version) => path.join(installed, version, 'bin'))
  .findLast((folder) => existsSync(path.join(folder, 'initdb')));

/** PostgreSQL refuses to run as root: root starts it as the user that owns nothing. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

export async function startPostgres(programs: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'kt-pg-'));
  if (nobody) chownSync(folder, nobody.uid, nobody.gid);
  chmodSync(folder, 0o700);
  const data = path.join(folder, 'data');
  const options = { cwd: folder, env: { PATH: process.env['PATH'], LC_ALL: 'C' }, ...nobody };
  const initial = ['-D', data, '-U', 'keyturn', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(path.join(programs, 'initdb'), initial, { ...options, stdio: 'ignore' });
  const settings = ['listen_addresses=', 'fsync=off', 'shared_buffers=4MB', 'max_connections=40'];
  const server = spawn(
    'setpriv',
    [
      '--pdeathsig=INT',
      path.join(programs, 'postgres'),
      '-D',
      data,
      '-k',
      folder,
      ...settings.flatMap((setting) => ['-c', setting]),
    ],
    { ...options, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const ended = once(server, 'exit');
  const said: string[] = [];
  for await (const line of createInterface(server.stderr)) {
    said.push(line);
    if (line.includes('ready to accept connections')) break;
  }
  if (server.exitCode !== null) throw new Error(`PostgreSQL did not start: ${said.join('\n')}`);
  server.stderr.resume();
  return {
    /** For `postgresStorage`. */
    url: `postgresql://keyturn@/postgres?host=${encodeURIComponent(folder)}`,
    async stop() {
      // Its "fast" end: it waits for no client.
      server.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
