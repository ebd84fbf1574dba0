/** A request to a home's broker from the test's own process, with the owner's key: a command would be a process each time. */
import { KeyturnError } from '../../../src/base/errors.ts';
import { connectAsOwner } from '../../../src/client/connect.ts';
import { methods, type MethodName, type ParamsOf, type ResultOf } from '../../../src/ipc/protocol/methods.ts';
import { type TestHome, until } from '../home.ts';

/** For what only sets up or looks. Starts no broker: rejects with `unpaired` or `broker_unreachable` where none runs. */
export async function askBroker<M extends MethodName>(
  { env, paths }: TestHome,
  method: M,
  params: ParamsOf<M>,
): Promise<ResultOf<M>> {
  const owner = await connectAsOwner({ env, paths });
  try {
    // The schema looked up by the method's name parses to its answer; the compiler can't follow the lookup.
    return methods[method].result.parse(await owner.request(method, params)) as ResultOf<M>;
  } finally {
    owner.close();
  }
}

export type Question = ResultOf<'request.list'>['requests'][number];

const noBroker: ReadonlySet<string> = new Set(['unpaired', 'broker_unreachable', 'broker_stopping']);

/**
 * The questions that wait for the user; none while no broker runs. For a test that looks until one is there: whether
 * one is gone, `askBroker` tells, which rejects where the broker is.
 */
export async function questionsAt(home: TestHome): Promise<readonly Question[]> {
  try {
    return (await askBroker(home, 'request.list', {})).requests;
  } catch (error) {
    if (error instanceof KeyturnError && noBroker.has(error.reason)) return [];
    throw error;
  }
}

/** The first question of this kind, and of this program where one is named, once it waits. */
export async function questionOf(home: TestHome, kind: Question['kind'], client?: string): Promise<Question> {
  return until(`a question of kind ${kind}`, async () =>
    (await questionsAt(home)).find(
      (one) => one.kind === kind && (client === undefined || one.app === client),
    ),
  );
}
