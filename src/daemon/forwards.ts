/** The forwards of a running broker, put together. */
import { startServer } from '../ipc/server/server.ts';
import type { ServerDeps } from '../ipc/server/server.ts';
import { prepareForwardSocket } from '../ipc/wire/socket-path.ts';
import { Forwards } from './forwards/forwards.ts';
import { serverOf } from './listen.ts';
import type { Runtime } from './runtime.ts';

/** Opens nothing yet. */
export function forwardsOf(runtime: Runtime, dispatch: ServerDeps['dispatch']): Forwards {
  const { home } = runtime.opened;
  return new Forwards({
    broker: runtime.broker,
    homeId: home.homeId,
    socketFor: (name) => prepareForwardSocket(home.paths, name, runtime.options.env),
    dispatch,
    serve: (forward, own) => startServer({ ...serverOf(runtime, forward), ...own }),
    changed: () => runtime.subscribers.tell('status.changed'),
  });
}
