/** `keyturn exec` in a terminal. Its signals, files and end: test/cli/exec.txt. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { homeInWorld, until } from '../../support/home.ts';
import { inTerminal } from '../../support/processes/terminal.ts';

/** Says which signals it gets, until it gets SIGTERM. */
const listening = `
  process.on('SIGINT', () => console.error('got SIGINT'));
  process.on('SIGTERM', () => process.exit(9));
  setInterval(() => undefined, 1000);
  console.error('ready ' + process.pid);
`;

const status = (pid: number): string => readFileSync(`/proc/${pid}/status`, 'utf8');

it('signals of a terminal come once, and a shell stops and continues one job', async () => {
  const { home, resource } = await homeInWorld();
  await home.ok(['app', 'allow', 'cli', resource]);
  const terminal = inTerminal(home, ['bash', '--norc', '-i'], { LISTENING: listening });
  const { execPath } = process;
  terminal.type(`${execPath} ${builtBin} exec --env T=${resource} -- ${execPath} -e "$LISTENING"\n`);
  const [, pid = ''] = await terminal.shows(/ready (\d+)/);
  terminal.type('\u0003');
  await terminal.shows(/got SIGINT/);
  terminal.type('\u001a');
  await terminal.shows(/Stopped/);
  const wrapper = Number(/PPid:\s+(\d+)/.exec(status(Number(pid)))?.[1]);
  const areStopped = () => [Number(pid), wrapper].map((one) => /State:\s+T/.test(status(one)));
  expect(areStopped()).toEqual([true, true]);
  terminal.type('fg\n');
  await until('both go on', () => !areStopped().includes(true));
  terminal.type('\u0003');
  await until('the second interrupt came', () => terminal.shown().split('got SIGINT').length === 3);
  process.kill(wrapper, 'SIGTERM');
  terminal.type('echo "code $?"\n');
  await terminal.shows(/code 9/);
  expect(terminal.shown().split('got SIGINT')).toHaveLength(3);
  terminal.type('exit\n');
  await terminal.ended;
});
