/** A local program with a connection of its own, paired through the built library. */
import path from 'node:path';
import { expect, onTestFailed } from 'vitest';
import type { Connection } from '../../../src/client/index.ts';
import type { TestHome } from '../home.ts';
import { askBroker, questionOf } from '../homes/ask-broker.ts';
import { ofTest } from '../lasting.ts';

type Library = typeof import('../../../src/client/index.ts');

/** A path in a variable: the compiler must not look for what may not be built yet. */
const built = path.join(import.meta.dirname, '..', '..', '..', 'dist', 'client', 'client', 'index.js');

export async function library(): Promise<Library> {
  return (await import(built)) as Library;
}

/** Pairs a program and answers its card as the owner, once the codes agree. */
export async function paired(home: TestHome, name: string, answer: 'approve' | 'deny' = 'approve') {
  const { pair } = await library();
  const shown = Promise.withResolvers<string>();
  const pairing = pair({ name, env: home.env, onCode: shown.resolve });
  pairing.catch(() => undefined);
  const code = await Promise.race([shown.promise, pairing.then(() => '')]);
  const card = await questionOf(home, 'pair');
  expect(card).toMatchObject({ app: name, code });
  await askBroker(home, 'request.answer', { id: card.id, answer });
  return pairing;
}

/** A paired program's connection; it ends with the test. */
export async function pairedProgram(home: TestHome, name: string): Promise<Connection> {
  await paired(home, name);
  return connected(home, name);
}

export async function connected(home: TestHome, name: string): Promise<Connection> {
  const { connect } = await library();
  const connection = await ofTest(connect({ name, env: home.env }));
  return connection;
}

/**
 * A request that waits for the user: a rejection counts only where the test looks at it. A test that failed tells it
 * too: such a test may have waited for a card that never came.
 */
export function asks(
  program: Connection,
  params: Parameters<Connection['getToken']>[0],
): ReturnType<Connection['getToken']> {
  const asking = program.getToken({ interaction: 'allow', ...params });
  let refusal: unknown;
  asking.catch((error: unknown) => (refusal = error));
  onTestFailed(() => {
    if (refusal !== undefined) throw refusal;
  });
  return asking;
}
