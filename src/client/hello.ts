/**
 * The client's side of the handshake.
 *
 * Invariant: the client says nothing but its hello until the other end has proved that it holds the pairing's
 * key, under the pinned broker's id. On any failure the key is kept: only a user starts a new pairing. A broker that
 * only took too long is never reported as one that can't be trusted.
 */
import { constantTimeEqual } from '../base/constant-time.ts';
import { KeyturnError, Unreachable } from '../base/errors.ts';
import { startHint } from '../base/private/private-folder.ts';
import { brokerProof, clientProof, keyFromText, newNonce, transcript } from '../ipc/wire/handshake.ts';
import { type Identity, isHelloResult, protocolVersion } from '../ipc/wire/handshake-messages.ts';
import { isOtherHome } from '../ipc/wire/capabilities.ts';
import { brokerTimeout } from '../ipc/wire/limits.ts';
import type { After } from '../ipc/wire/timer.ts';
import type { Channel } from './channel.ts';

export interface HelloOptions {
  readonly identity: Identity;
  readonly socketId: string;
  /** The capability of the home whose broker is meant; empty: of any. */
  readonly home: readonly string[];
  readonly after: After;
}

/**
 * Resolves once the broker has proved itself and our proof was sent: requests may follow at once.
 * `accepted` settles when the broker has taken our proof; if it refuses, the channel ends with that
 * refusal. Throws `handshake_failed`, `unpaired`, `locked`, `rate_limited` or `broker_unreachable`.
 */
export async function hello(
  channel: Channel,
  how: HelloOptions,
): Promise<{ readonly accepted: Promise<unknown>; readonly capabilities: readonly string[] }> {
  const end = (error: unknown): never => {
    const known = error instanceof KeyturnError ? error : refusal('it broke off');
    channel.fail(known);
    throw known;
  };
  const { capabilities, answer } = await authenticate(channel, how).catch(end);
  const accepted = answer.catch(end);
  // A caller that doesn't wait for it gets the failure with its next request.
  accepted.catch(() => {});
  return { accepted, capabilities };
}

/** Sends hello, checks the answer, sends authenticate; returns what the broker said, and its last word. */
async function authenticate(
  channel: Channel,
  { identity, socketId, home, after }: HelloOptions,
): Promise<{ readonly capabilities: readonly string[]; readonly answer: Promise<unknown> }> {
  const { line, answer } = channel.start('hello', {
    versions: [protocolVersion],
    appId: identity.appId,
    nonce: newNonce(),
    socketId,
    capabilities: [],
  });
  const offer = await inTime(channel, answer, after);
  if (!isHelloResult(offer)) throw refusal('its answer is malformed');
  if (offer.version !== protocolVersion) throw refusal('it chose a version of the wire that was not offered');
  if (offer.brokerId !== identity.brokerId) {
    throw refusal('it is not the broker that this app was paired with', 'The key was kept.');
  }
  const key = keyFromText(identity.key);
  const t = transcript({ ...offer, helloLine: Buffer.from(line), brokerNonce: offer.nonce });
  if (!constantTimeEqual(brokerProof(key, t), offer.proof)) {
    throw refusal('it did not prove that it holds the key of this pairing', 'The key was kept.');
  }
  if (isOtherHome(offer.capabilities, home)) throw otherHome();
  channel.trust();
  channel.sendTogether();
  const last = channel.start('authenticate', { proof: clientProof(key, t, offer.proof) });
  return { capabilities: offer.capabilities, answer: inTime(channel, last.answer, after) };
}

/** Ends the channel where the broker takes too long. */
async function inTime<T>(channel: Channel, answer: Promise<T>, after: After): Promise<T> {
  const cancel = after(brokerTimeout, () => channel.fail(late()));
  return answer.finally(cancel);
}

/** As where nobody listens: a broker that is started now listens elsewhere. */
function otherHome(): Unreachable {
  return new Unreachable('broker_unreachable', 'the broker there runs on another copy of this home', {
    hint: startHint,
  });
}

function late(): Unreachable {
  return new Unreachable(
    'handshake_failed',
    `the broker did not answer within ${brokerTimeout / 1000} seconds`,
    {
      hint:
        'Its keychain may wait for you: answer it, or run keyturn unlock, then try again. If that does not help, ' +
        'keyturn broker restart starts the broker again. The key was kept.',
    },
  );
}

function refusal(what: string, more = ''): KeyturnError {
  const hint = 'Find out which program listens on the socket; if it is your broker, pair again.';
  return new KeyturnError('handshake_failed', `the broker could not be trusted: ${what}`, {
    rule: 'Keyturn wire protocol, Handshake: an app sends nothing but its hello before the broker has proved who it is',
    hint: more ? `${more} ${hint}` : hint,
  });
}
