/**
 * The child process that loads a module of PKCS#11: the only one that does.
 *
 * A module is code of somebody else's, and can crash and hang. So it runs in a process of its own, which the broker can
 * kill and start again.
 * Invariants: one call runs at a time. The PIN is here only while it is handed to the token. This process ends with its
 * broker.
 */
import { realpathSync } from 'node:fs';
import { mutex } from '../../base/mutex.ts';
import { shieldProcess } from '../../base/shield.ts';
import { changerOf } from '../../base/system/changers.ts';
import { hearParent, tellParent } from '../../base/system/parent.ts';
import { requestSchema } from './messages.ts';
import type { SignerAnswer, SignerFailure, SignerRequest } from './messages.ts';
import {
  CKR_PIN_EXPIRED,
  CKR_PIN_INCORRECT,
  CKR_PIN_INVALID,
  CKR_PIN_LEN_RANGE,
  CKR_PIN_LOCKED,
  Module,
  Refused,
} from './module.ts';
import type { Handle, Token } from './module.ts';

/** Why a request has no value. */
class Failed extends Error {
  readonly failure: SignerFailure;

  constructor(failure: SignerFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

interface Opened {
  readonly module: Module;
  readonly token: Token;
  readonly session: Handle;
}

let module: Module | undefined;
/** By the token's label and serial number. */
const sessions = new Map<string, Opened>();

/**
 * The file that is loaded: where links lead, so that none can lead elsewhere in between. What the user's own programs
 * could replace would get the PIN, and could sign.
 */
function foreignFile(file: string): string {
  const real = realpathSync(file);
  // Windows has no such modes.
  if (process.getuid && changerOf(real) !== undefined)
    throw new Failed('module', 'file and folders must belong to root, and only root may write them');
  return real;
}

function moduleAt(file: string): Module {
  try {
    module ??= new Module(foreignFile(file));
    return module;
  } catch (error) {
    if (error instanceof Failed) throw error;
    throw new Failed(
      'module',
      error instanceof Refused ? error.message : 'it is no module that can be loaded',
    );
  }
}

function opened({ place, pin }: SignerRequest): Opened {
  const key = JSON.stringify([place.token, place.serial]);
  const known = sessions.get(key);
  if (known) return known;
  const found = moduleAt(place.module);
  const fitting = found
    .tokens()
    .filter(({ label, serial }) => label === place.token && (place.serial ?? serial) === serial);
  const [token] = fitting;
  if (!token || fitting.length > 1)
    throw new Failed('token', token ? 'several tokens have this label' : 'no such token is there');
  if (token.needsPin && pin === undefined) throw new Failed('pinWanted', 'the token wants its PIN');
  const session = found.openSession(token.slot);
  if (token.needsPin && pin !== undefined) login(found, session, pin);
  const one = { module: found, token, session };
  sessions.set(key, one);
  // Whoever asked by the label alone asks by the serial number from now on.
  sessions.set(JSON.stringify([token.label, token.serial]), one);
  return one;
}

const pinFaults: readonly number[] = [CKR_PIN_INCORRECT, CKR_PIN_INVALID, CKR_PIN_LEN_RANGE, CKR_PIN_EXPIRED];

function login(found: Module, session: Handle, pin: string): void {
  try {
    found.login(session, pin);
  } catch (error) {
    found.closeSession(session);
    if (!(error instanceof Refused)) throw error;
    if (error.code === CKR_PIN_LOCKED) throw new Failed('pinLocked', error.message);
    throw pinFaults.includes(error.code) ? new Failed('pinRefused', error.message) : error;
  }
}

function privateKey({ module: found, session }: Opened, id: Buffer): Handle {
  const [key] = found.find(session, 'private', id);
  if (key === undefined) throw new Failed('key', 'the token has no such key');
  return key;
}

function remove({ module: found, session }: Opened, id: Buffer): void {
  for (const kind of ['private', 'public'] as const)
    for (const object of found.find(session, kind, id)) found.destroy(session, object);
}

function make(one: Opened, id: Buffer): object {
  const point = one.module.make(one.session, id, 'Keyturn');
  if (one.module.isExtractable(one.session, privateKey(one, id))) {
    remove(one, id);
    throw new Failed('extractable', 'the token would give the key out');
  }
  const [x, y] = [point.subarray(0, 32), point.subarray(32)];
  const jwk = { kty: 'EC', crv: 'P-256', x: x.toString('base64url'), y: y.toString('base64url') };
  return { jwk, serial: one.token.serial };
}

function perform(request: SignerRequest): unknown {
  const one = opened(request);
  const id = Buffer.from(request.key, 'hex');
  if (request.op === 'make') return make(one, id);
  if (request.op === 'remove') return remove(one, id) ?? null;
  const digest = Buffer.from(request.digest, 'base64url');
  return one.module.sign(one.session, privateKey(one, id), digest).toString('base64url');
}

function answer(request: SignerRequest): SignerAnswer {
  const { id } = request;
  try {
    return { id, ok: true, value: perform(request) };
  } catch (error) {
    const failure = error instanceof Failed ? error.failure : 'refused';
    const isOurs = error instanceof Failed || error instanceof Refused;
    return { id, ok: false, failure, message: isOurs ? error.message : 'a call failed' };
  }
}

// The first request waits for the shield. A failed step isn't reported here: the broker shields itself and reports it.
const exclusive = mutex();
const shielded = exclusive(shieldProcess);
hearParent((message) => {
  void exclusive(async () => {
    await shielded;
    // A request that doesn't parse has no id for an answer. The exception ends this process, which the broker notices.
    tellParent(answer(requestSchema.parse(message)));
  });
});
