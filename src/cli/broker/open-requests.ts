/** The approval requests that wait for the user, and the one that an id or its beginning names. */
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { UsageError } from '../terminal/arguments.ts';
import { wholeId } from '../terminal/short-id.ts';
import { ask } from './request.ts';

export type OpenRequest = ResultOf<'request.list'>['requests'][number];

export async function openRequests(): Promise<readonly OpenRequest[]> {
  return (await ask('request.list', {})).requests;
}

/** `request` is undefined for an id that no open request has: the broker refuses that one. */
export async function requestNamed(text: string): Promise<{
  readonly id: string;
  readonly request: OpenRequest | undefined;
  readonly open: readonly OpenRequest[];
}> {
  if (text === '') throw new UsageError('ID is empty; `keyturn request` lists the open requests');
  const open = await openRequests();
  const id = wholeId(
    text,
    open.map((one) => one.id),
  );
  return { id, request: open.find((one) => one.id === id), open };
}
