/** Attack: a program tries to keep access beyond what the user gave it: for one token, one run, or a time. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { homeInWorld, type TestHome } from '../support/home.ts';
import { questionOf } from '../support/homes/ask-broker.ts';
import { paired } from '../support/processes/program.ts';

const support = path.join(import.meta.dirname, '..', 'support', 'processes');
const library = path.join(import.meta.dirname, '..', '..', 'dist', 'client', 'client', 'index.js');

/** A process of its own, with the program's key, and connected. */
async function started(home: TestHome, resource: string, name: string) {
  const child = fork(path.join(support, 'asking-program.ts'), [library, name, resource], { env: home.env });
  const end = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'))
      await once(child, 'exit');
  };
  onTestFinished(end);
  const said = async (): Promise<string> => String((await once(child, 'message'))[0]);
  await said();
  const program = {
    async tell(what: 'connect' | 'ask' | 'wait') {
      const answer = said();
      child.send(what);
      return answer;
    },
    end,
  };
  expect(await program.tell('connect')).toBe('connected');
  return program;
}

type Program = Awaited<ReturnType<typeof started>>;

/** Answers the question of the program that waits. */
async function allowed(home: TestHome, program: Program, ...how: readonly string[]): Promise<void> {
  const waiting = program.tell('wait');
  const { id } = await questionOf(home, 'allow');
  await home.ok(['request', 'approve', id, ...how]);
  expect(await waiting).toBe('token');
}

it('DOOR-6: a permission for one run ends with connection, process and broker', async () => {
  const { home, resource } = await homeInWorld({ vault: 'keychain' });
  await home.ok(['sign-in', 'list']);
  await paired(home, 'editor');
  const program = await started(home, resource, 'editor');
  await allowed(home, program, '--this-run');
  const second = await started(home, resource, 'editor');
  expect([await program.tell('ask'), await second.tell('ask')]).toEqual(['token', 'consent_required']);

  await program.tell('connect');
  expect(await program.tell('ask')).toBe('consent_required');

  await allowed(home, program, '--this-run');
  await program.end();
  const again = await started(home, resource, 'editor');
  expect([await again.tell('ask'), await second.tell('ask')]).toEqual(Array(2).fill('consent_required'));

  await allowed(home, again, '--this-run');
  await home.ok(['broker', 'restart']);
  await again.tell('connect');
  expect(await again.tell('ask')).toBe('consent_required');
});
