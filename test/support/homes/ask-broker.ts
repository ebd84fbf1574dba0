/** A request to a home's broker from the test's own process, with the owner's key: a command would be a process each time. */
import { connectAsOwner } from '../../../src/client/connect.ts';
import { methods } from '../../../src/ipc/protocol/methods.ts';
import type { MethodName, ParamsOf, ResultOf } from '../../../src/ipc/protocol/methods.ts';
import type { TestHome } from '../home.ts';

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
