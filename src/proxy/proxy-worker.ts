/**
 * The process of the proxies: listens for programs that can't hold a key, and passes their requests on with a token.
 *
 * It is the broker's child, and it is an app like any other: it asks the socket for each token, under an
 * identity that the broker hands it over their channel. Invariant: it holds no key but those, and it never outlives
 * its broker.
 */
import { KeyturnError } from '../base/errors.ts';
import { shieldProcess } from '../base/shield.ts';
import { hearParent, tellParent } from '../base/system/parent.ts';
import { errorFrom } from '../ipc/wire/json-rpc.ts';
import type { ErrorBody } from '../ipc/wire/json-rpc.ts';
import { isObject } from '../ipc/wire/values.ts';
import { after } from '../ipc/wire/timer.ts';
import { orderSchema } from './messages.ts';
import type { Admission, ProxyEntry, ProxyOrder, ProxyReport } from './messages.ts';
import { Ports } from './ports.ts';
import { Programs } from './programs.ts';

/** Milliseconds between two tries for a port that could not be opened. */
const period = 5000;

const waiting = new Map<number, PromiseWithResolvers<Admission>>();
let lastId = 0;

const programs = new Programs({ admit, after });
const ports = new Ports({ programs, report: (entry, state) => tell({ op: 'state', entry, state }) });

function tell(report: ProxyReport): void {
  tellParent(report);
}

async function admit(entry: ProxyEntry): Promise<Admission> {
  const id = (lastId += 1);
  const asked = Promise.withResolvers<Admission>();
  waiting.set(id, asked);
  tell({ op: 'admit', id, entry: entry.id });
  return asked.promise;
}

async function obey(order: ProxyOrder): Promise<void> {
  switch (order.op) {
    case 'serve':
      return ports.serve(order.entries);
    case 'cut':
      return programs.cut(order.appId);
    case 'forget':
      return programs.forget(order.appId);
    case 'admitted':
      waiting.get(order.id)?.resolve(order.admission);
      break;
    case 'refused':
      waiting.get(order.id)?.reject(refusalFrom(order.error));
  }
  waiting.delete(order.id);
}

function refusalFrom(error: unknown): KeyturnError {
  // The broker made it with `errorBody`; `errorFrom` checks each of its parts.
  return isObject(error)
    ? errorFrom(error as unknown as ErrorBody)
    : new KeyturnError('internal', 'the broker refused');
}

// An order that doesn't parse is a fault of ours: the throw ends this process, which the broker notices.
const shielded = shieldProcess();
hearParent((message) => {
  const order = orderSchema.parse(message);
  void shielded.then(() => obey(order));
});

setInterval(() => ports.retry(), period);
