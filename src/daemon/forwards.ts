/** The forwards of a running broker, put together. */
import path from 'node:path';
import { startServer } from '../ipc/server/server.ts';
import type { ServerDeps } from '../ipc/server/server.ts';
import { Forwards } from './forwards/forwards.ts';
import { serverOf } from './listen.ts';
import type { Runtime } from './runtime.ts';

/** Opens nothing yet. `socket`: the home's own, once the broker listens. */
export function forwardsOf(
  runtime: Runtime,
  dispatch: ServerDeps['dispatch'],
  socket: () => string,
): Forwards {
  return new Forwards({
    broker: runtime.broker,
    run: () => path.dirname(socket()),
    dispatch,
    serve: (forward, own) => startServer({ ...serverOf(runtime, forward), ...own }),
    changed: () => runtime.subscribers.tell('status.changed'),
  });
}
