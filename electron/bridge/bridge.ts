/**
 * Answers what a window asks: schema in, handler, schema out.
 *
 * Invariant: only names of the channel table are answered, params and answers pass their schemas (so a
 * field that the table doesn't know never reaches a window), and a refusal travels as a value. Who may
 * ask at all (frame, origin) is checked before this, in ipc.ts.
 */
import { KeyturnError, quoted, detailsOf } from '../../src/base/errors.ts';
import type { Envelope, Refusal } from './channels.ts';
import { channels, isChannel } from './channels.ts';
import type { ChannelName } from './channels.ts';

/** Does what a channel is for; its params have passed the channel's schema. */
export type ChannelHandler = (channel: ChannelName, params: unknown) => Promise<unknown>;

export async function answerCall(
  handler: ChannelHandler,
  channel: unknown,
  params: unknown,
): Promise<Envelope<unknown>> {
  try {
    if (!isChannel(channel)) throw unknownChannel(channel);
    const asked = channels[channel].params.safeParse(params ?? {});
    if (!asked.success) throw badParams(channel, asked.error.issues[0]?.path.join('.'));
    const value = channels[channel].result.parse(await handler(channel, asked.data));
    return { ok: true, value };
  } catch (error) {
    return { ok: false, refusal: refusalOf(error) };
  }
}

/** A foreign error shows nothing of itself: its text may hold anything. */
function refusalOf(error: unknown): Refusal {
  if (!(error instanceof KeyturnError)) {
    return { reason: 'internal', message: 'Something went wrong inside Keyturn. Please report it.' };
  }
  return { reason: error.reason, message: error.message, ...detailsOf(error) };
}

function unknownChannel(channel: unknown): KeyturnError {
  const name = typeof channel === 'string' ? quoted(channel) : 'that is no text';
  return new KeyturnError('method_not_found', `A window asked for a channel ${name}.`);
}

function badParams(channel: ChannelName, field = ''): KeyturnError {
  return new KeyturnError('invalid_request', `${channel}: ${quoted(field)} has a bad value.`);
}
