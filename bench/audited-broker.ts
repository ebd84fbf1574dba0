/**
 * A broker in a home that is there, which notes 1,000 rows a second in its audit log after each `+` that it reads, and none
 * after each `-`: no program can bring about so many, since repeats of one answer share a row.
 *
 * Nothing of the process is shielded, and it opens no browser: nobody signs in here.
 */
import process from 'node:process';
import { homePaths } from '../src/base/paths.ts';
import { startDaemon } from '../src/daemon/daemon.ts';
import { terminalLog } from '../src/daemon/system/log.ts';

const { env } = process;
const daemon = await startDaemon({
  paths: homePaths(env),
  env,
  autoStarted: true,
  openBrowser: async () => undefined,
  ownsProcess: true,
  log: terminalLog(() => undefined),
  shield: async () => [],
});

/** Rows in a millisecond. */
const rate = 1;
const issuer = 'https://login.example';
const { audit } = daemon.broker.parts;
let stream: NodeJS.Timeout | undefined;

/** A timer that comes late makes up for it. */
function startStream(): NodeJS.Timeout {
  const from = performance.now();
  let noted = 0;
  return setInterval(() => {
    for (; noted < rate * (performance.now() - from); noted += 1)
      audit.note({ event: 'refresh', outcome: 'ok', issuer });
  }, 10);
}

process.stdin.on('data', (text: Buffer) => {
  clearInterval(stream);
  if (text.toString() === '+') stream = startStream();
});
process.on('SIGTERM', () => {
  clearInterval(stream);
  void daemon.stop().then(() => process.exit(0));
});
process.stdout.write('ready\n');
