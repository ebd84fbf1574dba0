/**
 * One request to the broker, checked by its schema.
 *
 * Invariant: the schemas are loaded with the first request, so that help and completions come without them.
 */
import { KeyturnError } from '../../base/errors.ts';
import type { z } from 'zod';
import type { MethodName, methods, ParamsOf } from '../../ipc/protocol/methods.ts';
import type { Connection } from '../../client/connection.ts';
import { appCapability } from '../../ipc/wire/capabilities.ts';
import { connect, interruptible, throughRestart, throughTakeover } from './connection.ts';
import { say, sayIfSlow } from '../terminal/output.ts';
import { explained, VersionDifference, wantsRestart } from './versions.ts';

type Answer<M extends MethodName> = z.output<(typeof methods)[M]['result']>;

/** Calls a method on an open connection; its answer has passed the method's schema. */
export async function call<M extends MethodName>(
  connection: Connection,
  method: M,
  params: ParamsOf<M>,
): Promise<Answer<M>> {
  const { isWidening } = await import('../../ipc/protocol/methods.ts');
  // If the broker is the Keyturn app, the user approves there first.
  const mayAsk = connection.capabilities.includes(appCapability) && isWidening(method);
  try {
    const answer = connection.request(method, params);
    return await checked(method, await (mayAsk ? sayIfSlow(waits, answer) : answer));
  } catch (error) {
    throw explained(error, connection);
  }
}

const waits = 'keyturn: the request waits in Keyturn’s window.';

const said = new Set<string | undefined>();

async function checked<M extends MethodName>(method: M, answer: unknown): Promise<Answer<M>> {
  const { methods, warned } = await import('../../ipc/protocol/methods.ts');
  const parsed = methods[method].result.safeParse(answer);
  const { warning } = warned.safeParse(answer).data ?? {};
  // A command may ask for several lists.
  if (warning !== undefined && !said.has(warning)) say(`keyturn: ${warning}`);
  said.add(warning);
  // The schema looked up by M parses to M's answer; the compiler can't follow the lookup.
  if (parsed.success) return parsed.data as Answer<M>;
  throw new KeyturnError('frame_invalid', `The broker's answer to ${method} has an unknown shape.`, {
    hint: 'Restart the broker: keyturn broker restart',
  });
}

/** Connects, calls one method, hangs up. If a broker of another version can't answer, offers to restart it. */
export async function ask<M extends MethodName>(method: M, params: ParamsOf<M>): Promise<Answer<M>> {
  return (await askWhere(method, params)).answer;
}

interface LocatedAnswer<M extends MethodName> {
  readonly answer: Answer<M>;
  /** The broker is the app: what gives somebody something is answered in its window. */
  readonly isKeyturnApp: boolean;
}

/** As `ask`, and tells who the broker is, for commands that say where the user answers. */
export async function askWhere<M extends MethodName>(
  method: M,
  params: ParamsOf<M>,
): Promise<LocatedAnswer<M>> {
  try {
    return await askOnce(method, params);
  } catch (error) {
    if (!(error instanceof VersionDifference) || !(await wantsRestart())) throw error;
  }
  const { restartBroker } = await import('./restart.ts');
  await restartBroker();
  return askOnce(method, params);
}

async function askOnce<M extends MethodName>(method: M, params: ParamsOf<M>): Promise<LocatedAnswer<M>> {
  const { methodRow } = await import('../../ipc/protocol/methods.ts');
  const work = async (reached: () => void): Promise<LocatedAnswer<M>> => {
    const connection = await connect();
    reached();
    const answer = await interruptible(connection, () => call(connection, method, params));
    return { answer, isKeyturnApp: connection.capabilities.includes(appCapability) };
  };
  // What only reads may be asked twice. A broker that ends may close the connection instead of saying that it stops.
  return methodRow(method).effect === 'reads'
    ? throughRestart(work)
    : throughTakeover((_isFirst, reached) => work(reached));
}
