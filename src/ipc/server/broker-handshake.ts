/**
 * The broker's side of the handshake: what a hello is answered with, what has to come next, and what is refused.
 *
 * Invariant: nothing is kept between two calls. A hello for another socket gets no proof.
 */
import type { KeyObject } from 'node:crypto';
import { KeyturnError } from '../../base/errors.ts';
import { brokerProof, clientProof, newNonce, transcript } from '../wire/handshake.ts';
import { type HelloResult, protocolVersion } from '../wire/handshake-messages.ts';

const handshakeRule =
  'Keyturn wire protocol, Handshake: nothing is served before each side has proved who it is';

/** What a client has to prove next. */
export interface ExpectedProof {
  readonly appId: string;
  readonly proof: string;
}

interface Hello {
  readonly appId: string;
  readonly key: KeyObject;
  /** The frame, exactly. */
  readonly line: Buffer;
}

export function answerHello(
  { homeId, capabilities }: { readonly homeId: string; readonly capabilities: readonly string[] },
  { appId, key, line }: Hello,
): { readonly answer: HelloResult; readonly expected: ExpectedProof } {
  const offer = { version: protocolVersion, brokerId: homeId, nonce: newNonce(), capabilities };
  const t = transcript({ ...offer, helloLine: line, brokerNonce: offer.nonce });
  const proof = brokerProof(key, t);
  return { answer: { ...offer, proof }, expected: { appId, proof: clientProof(key, t, proof) } };
}

/** A hello for another socket was relayed to us; it must get no proof that could be carried back. */
export function refuseOtherSocket(
  { versions, socketId }: { readonly versions: readonly number[]; readonly socketId: string },
  own: string,
): void {
  if (!versions.includes(protocolVersion)) throw otherVersion(versions);
  if (socketId !== own) throw handshakeRefusal('the hello was meant for another socket');
}

export function unknownApp(): KeyturnError {
  return new KeyturnError('unpaired', 'this broker knows no such app', {
    hint: 'The broker does not know this key. Move it away, and pair the app again.',
  });
}

export function handshakeRefusal(message: string, hint?: string): KeyturnError {
  return new KeyturnError('handshake_failed', message, { rule: handshakeRule, hint });
}

function otherVersion(offered: readonly number[]): KeyturnError {
  const theirs = offered.slice(0, 8).join(', ');
  return new KeyturnError(
    'version_unsupported',
    `this broker speaks version ${protocolVersion} of the wire, and the app speaks ${theirs}`,
    {
      rule: handshakeRule,
      hint: 'Update the older of the two; keyturn broker restart starts what is installed.',
    },
  );
}
