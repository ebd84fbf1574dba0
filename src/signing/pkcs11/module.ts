/**
 * The calls of PKCS#11 (Cryptoki 2.40) that we use, by koffi. Loaded in the signer's process only.
 *
 * Invariants: what a call refuses is thrown as `Refused` with its number. A key is made so that the token never gives
 * it out.
 */
import koffi from 'koffi';

type TypeSpec = Parameters<typeof koffi.sizeof>[0];
type Call = (...values: unknown[]) => unknown;

/** <pkcs11t.h>. */
const CKF_RW_SESSION = 2;
const CKF_SERIAL_SESSION = 4;
const CKU_USER = 1;
const CKO_PRIVATE_KEY = 3;
const CKO_PUBLIC_KEY = 2;
const CKK_EC = 3;
const CKM_EC_KEY_PAIR_GEN = 0x1040;
const CKM_ECDSA = 0x1041;

const CKA_CLASS = 0;
const CKA_TOKEN = 1;
const CKA_PRIVATE = 2;
const CKA_LABEL = 3;
const CKA_KEY_TYPE = 0x100;
const CKA_ID = 0x102;
const CKA_SENSITIVE = 0x103;
const CKA_SIGN = 0x108;
const CKA_VERIFY = 0x10a;
const CKA_EXTRACTABLE = 0x162;
const CKA_EC_PARAMS = 0x180;
const CKA_EC_POINT = 0x181;

export const CKR_PIN_INCORRECT = 0xa0;
export const CKR_PIN_INVALID = 0xa1;
export const CKR_PIN_LEN_RANGE = 0xa2;
export const CKR_PIN_EXPIRED = 0xa3;
export const CKR_PIN_LOCKED = 0xa4;
const CKR_USER_ALREADY_LOGGED_IN = 0x100;

const CKF_LOGIN_REQUIRED = 0x4;
const CKF_TOKEN_INITIALIZED = 0x400;

/** secp256r1 (1.2.840.10045.3.1.7) in DER. */
const curve = Buffer.from('06082a8648ce3d030107', 'hex');

/** In CK_FUNCTION_LIST, behind its version, by place. */
const places = {
  initialize: 0,
  slotList: 4,
  tokenInfo: 6,
  openSession: 12,
  closeSession: 13,
  login: 18,
  destroy: 22,
  attributes: 24,
  findInit: 26,
  find: 27,
  findFinal: 28,
  signInit: 42,
  sign: 43,
  generatePair: 59,
} as const;

const ulong = 'unsigned long';
const attribute = koffi.struct({ type: ulong, value: 'void *', length: ulong });
const attributeList = koffi.pointer(attribute);
const mechanism = koffi.pointer(koffi.struct({ type: ulong, parameter: 'void *', length: ulong }));

const many = 'void *';
const count = koffi.inout(koffi.pointer(ulong));

/** What each call takes. */
const takes: Readonly<Record<keyof typeof places, TypeSpec[]>> = {
  initialize: [many],
  slotList: ['uint8', many, count],
  tokenInfo: [ulong, many],
  openSession: [ulong, ulong, many, many, koffi.out(koffi.pointer(ulong))],
  closeSession: [ulong],
  login: [ulong, ulong, many, ulong],
  destroy: [ulong, ulong],
  attributes: [ulong, ulong, koffi.inout(attributeList), ulong],
  findInit: [ulong, attributeList, ulong],
  find: [ulong, many, ulong, koffi.out(koffi.pointer(ulong))],
  findFinal: [ulong],
  signInit: [ulong, mechanism, ulong],
  sign: [ulong, many, ulong, many, count],
  generatePair: [
    ulong,
    mechanism,
    attributeList,
    ulong,
    attributeList,
    ulong,
    koffi.out(koffi.pointer(ulong)),
    koffi.out(koffi.pointer(ulong)),
  ],
};

/** A call that the module refused. */
export class Refused extends Error {
  /** CK_RV. */
  readonly code: number;

  constructor(call: string, code: number) {
    super(`${call} answered 0x${code.toString(16)}`);
    this.code = code;
  }
}

/** CK_ULONG. Modules use all of its 64 bits, and a number of JavaScript has 53. */
export type Handle = number | bigint;

export interface Token {
  readonly slot: Handle;
  readonly label: string;
  readonly serial: string;
  readonly needsPin: boolean;
}

type Attribute = { readonly type: number; readonly value: Buffer; readonly length: number };

export class Module {
  /** Held: koffi unloads a library that nothing refers to, and its calls would go nowhere. */
  readonly library: ReturnType<typeof koffi.load>;
  readonly #calls: ReadonlyMap<string, Call>;

  /** Loads the module and begins with it. Throws. */
  constructor(file: string) {
    const library = koffi.load(file);
    this.library = library;
    const list: unknown[] = [null];
    const getList = library.func(`${ulong} C_GetFunctionList(_Out_ void **list)`);
    const code = Number(getList(list));
    if (code !== 0) throw new Refused('C_GetFunctionList', code);
    // CK_VERSION is two bytes, and a pointer's place follows.
    const pointers = koffi.decode(list[0], koffi.sizeof('void *'), 'void *', 60) as unknown[];
    this.#calls = new Map(
      Object.entries(places).map(([name, place]) => [
        name,
        koffi.decode(pointers[place], koffi.proto(ulong, takes[name as keyof typeof places])) as Call,
      ]),
    );
    this.#call('initialize', null);
  }

  #call(name: keyof typeof places, ...values: unknown[]): void {
    const code = Number(this.#calls.get(name)?.(...values));
    if (code !== 0) throw new Refused(name, code);
  }

  /** Those that are there and were set up. */
  tokens(): Token[] {
    const found = [0];
    this.#call('slotList', 1, null, found);
    const slots = Buffer.alloc(8 * (found[0] ?? 0));
    this.#call('slotList', 1, slots, found);
    const numbers = Array.from({ length: found[0] ?? 0 }, (_, n) => slots.readBigUInt64LE(8 * n));
    return numbers.flatMap((slot) => this.#token(slot) ?? []);
  }

  #token(slot: Handle): Token | undefined {
    const info = Buffer.alloc(512);
    this.#call('tokenInfo', slot, info);
    const text = (from: number, to: number): string => info.toString('utf8', from, to).trimEnd();
    const flags = Number(info.readBigUInt64LE(96));
    if ((flags & CKF_TOKEN_INITIALIZED) === 0) return undefined;
    return { slot, label: text(0, 32), serial: text(80, 96), needsPin: (flags & CKF_LOGIN_REQUIRED) !== 0 };
  }

  openSession(slot: Handle): Handle {
    const session: [Handle] = [0];
    this.#call('openSession', slot, CKF_RW_SESSION + CKF_SERIAL_SESSION, null, null, session);
    return session[0];
  }

  closeSession(session: Handle): void {
    this.#call('closeSession', session);
  }

  login(session: Handle, pin: string): void {
    const bytes = Buffer.from(pin, 'utf8');
    try {
      this.#call('login', session, CKU_USER, bytes, bytes.length);
    } catch (error) {
      if (!(error instanceof Refused) || error.code !== CKR_USER_ALREADY_LOGGED_IN) throw error;
    } finally {
      bytes.fill(0);
    }
  }

  /** Makes a key; answers with its point (X and Y). */
  make(session: Handle, id: Buffer, label: string): Buffer {
    const shared = [bytes(CKA_ID, id), bytes(CKA_LABEL, Buffer.from(label)), flag(CKA_TOKEN, true)];
    const ofPublic = [
      ...shared,
      number(CKA_KEY_TYPE, CKK_EC),
      bytes(CKA_EC_PARAMS, curve),
      flag(CKA_VERIFY, true),
    ];
    const ofPrivate = [
      ...shared,
      number(CKA_KEY_TYPE, CKK_EC),
      flag(CKA_PRIVATE, true),
      flag(CKA_SENSITIVE, true),
      flag(CKA_EXTRACTABLE, false),
      flag(CKA_SIGN, true),
    ];
    const publicKey: [Handle] = [0];
    const privateKey: [Handle] = [0];
    const how = { type: CKM_EC_KEY_PAIR_GEN, parameter: null, length: 0 };
    this.#call(
      'generatePair',
      session,
      how,
      ofPublic,
      ofPublic.length,
      ofPrivate,
      ofPrivate.length,
      publicKey,
      privateKey,
    );
    return pointIn(this.#attribute(session, publicKey[0], CKA_EC_POINT, 256));
  }

  /** Whether the token would give the key out. */
  isExtractable(session: Handle, key: Handle): boolean {
    const [sensitive] = this.#attribute(session, key, CKA_SENSITIVE, 1);
    const [extractable] = this.#attribute(session, key, CKA_EXTRACTABLE, 1);
    return sensitive !== 1 || extractable !== 0;
  }

  #attribute(session: Handle, object: Handle, type: number, size: number): Buffer {
    const value = Buffer.alloc(size);
    const wanted = [{ type, value, length: size }];
    this.#call('attributes', session, object, wanted, 1);
    return value.subarray(0, Number(wanted[0]?.length));
  }

  /** The objects of a key: private ones only for a session that is logged in. */
  find(session: Handle, kind: 'private' | 'public', id: Buffer): Handle[] {
    const wanted = [
      number(CKA_CLASS, kind === 'private' ? CKO_PRIVATE_KEY : CKO_PUBLIC_KEY),
      bytes(CKA_ID, id),
    ];
    this.#call('findInit', session, wanted, wanted.length);
    const handles = Buffer.alloc(8 * 4);
    const found = [0];
    try {
      this.#call('find', session, handles, 4, found);
    } finally {
      this.#call('findFinal', session);
    }
    return Array.from({ length: Number(found[0]) }, (_, n) => handles.readBigUInt64LE(8 * n));
  }

  /** R and S of a digest. */
  sign(session: Handle, key: Handle, digest: Buffer): Buffer {
    this.#call('signInit', session, { type: CKM_ECDSA, parameter: null, length: 0 }, key);
    const signature = Buffer.alloc(256);
    const length = [signature.length];
    this.#call('sign', session, digest, digest.length, signature, length);
    return signature.subarray(0, Number(length[0]));
  }

  destroy(session: Handle, object: Handle): void {
    this.#call('destroy', session, object);
  }
}

const bytes = (type: number, value: Buffer): Attribute => ({ type, value, length: value.length });

const flag = (type: number, isSet: boolean): Attribute => bytes(type, Buffer.from([isSet ? 1 : 0]));

/** CK_ULONG: 64 bits on Linux and macOS. */
function number(type: number, value: number): Attribute {
  const encoded = Buffer.alloc(8);
  encoded.writeBigUInt64LE(BigInt(value));
  return bytes(type, encoded);
}

/** CKA_EC_POINT is an octet string in DER; some modules leave its head out. X and Y, without the 4 before them. */
function pointIn(value: Buffer): Buffer {
  const point = value.length === 67 ? value.subarray(2) : value;
  if (point.length !== 65 || point[0] !== 4) throw new Refused('EC_POINT', value.length);
  return point.subarray(1);
}
