/**
 * Messages of the wire and their distortions: frames of every method, then distorted.
 *
 * Invariant: everything follows from the seed, never from timing, so that a failure can be run again.
 */
import { methods } from '../../../src/ipc/protocol/methods.ts';

/** Numbers from a seed: mulberry32, as good as a fuzz run needs and the same everywhere. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 ≤ x < 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** True once in `n` times. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }

  pick<T>(from: readonly T[]): T {
    const found = from[this.below(from.length)];
    if (found === undefined) throw new Error('nothing to pick from');
    return found;
  }
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const methodNames = Object.keys(methods);

/** Parameters as callers send them. */
const samples: readonly Json[] = [
  {},
  { resource: 'https://a.example/mcp' },
  { resource: 'https://a.example/mcp', scope: ['read', 'write'], interaction: 'never', minimumLifetime: 60 },
  { id: '402917', decision: 'allow' },
  { name: 'editor', versions: [1] },
];

const names = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'id',
  'method',
  'result',
  '',
  '\u0000',
];

const oddities: readonly Json[] = [
  null,
  true,
  -1,
  0.5,
  -0,
  2 ** 53,
  1e308,
  '',
  '\u0000',
  '\ud800',
  '\u202e',
  '\ufeff',
  'x'.repeat(5000),
  [],
  {},
  [[[]]],
  { __proto__: null },
];

/** The value with one place in it changed for something else. */
function bent(dice: Dice, value: Json): Json {
  if (typeof value !== 'object' || value === null || dice.oneIn(4)) return dice.pick(oddities);
  if (Array.isArray(value))
    return [...value, dice.pick(oddities)].map((each) => (dice.oneIn(3) ? bent(dice, each) : each));
  const entries = Object.entries(value);
  if (entries.length === 0 || dice.oneIn(3))
    return Object.fromEntries([...entries, [dice.pick(names), dice.pick(oddities)]]);
  const at = dice.below(entries.length);
  if (dice.oneIn(4)) return Object.fromEntries(entries.toSpliced(at, 1));
  return Object.fromEntries(entries.map(([name, each], i) => [name, i === at ? bent(dice, each) : each]));
}

const ids: readonly Json[] = [
  0,
  -1,
  2 ** 53 - 1,
  'x',
  'x'.repeat(64),
  '__proto__',
  '\u0000',
  '\ud800',
  7,
  'id',
];
const badIds: readonly Json[] = [null, true, 0.5, 2 ** 53, '', 'x'.repeat(65), [], {}];

/** A request or notification as text, its params right or wrong. */
export function requestText(dice: Dice): string {
  const params = dice.pick(samples);
  const message = {
    jsonrpc: '2.0',
    ...(dice.oneIn(12) ? {} : { id: dice.pick(ids) }),
    method: dice.oneIn(15)
      ? dice.pick([...names, 'hello', 'prove', 'pair', 'token.get '])
      : dice.pick(methodNames),
    ...(dice.oneIn(10) ? {} : { params: dice.oneIn(2) ? bent(dice, params) : params }),
  };
  return JSON.stringify(message);
}

/** Distortions of a message's members: most are no message any more. */
export function bentMessage(dice: Dice, line: string): string {
  const message: Readonly<Record<string, Json>> = JSON.parse(line);
  const make: readonly (() => Json)[] = [
    () => bent(dice, message),
    () => ({ ...message, id: dice.pick(badIds) }),
    () => ({ ...message, jsonrpc: dice.pick(['1.0', 2, null, '2.0 ']) }),
    () => ({ ...message, method: dice.pick([null, 5, '', 'm'.repeat(65), [], {}]) }),
    () => [message],
    () => [message, message],
    () => ({ jsonrpc: '2.0', id: 1, result: {} }),
    () => ({ jsonrpc: '2.0', id: null, error: { code: -1, message: 'no' } }),
  ];
  return JSON.stringify(dice.pick(make)());
}

/** Distortions of the text that no value can express. */
export function bentText(dice: Dice, line: string): Buffer {
  const bytes = Buffer.from(line);
  const at = dice.below(bytes.length + 1);
  const insert = (...piece: number[]) =>
    Buffer.concat([bytes.subarray(0, at), Buffer.from(piece), bytes.subarray(at)]);
  const make: readonly (() => Buffer)[] = [
    () => bytes.subarray(0, at),
    () => insert(0),
    () => insert(0xff),
    () => insert(0xc3),
    () => insert(0xed, 0xa0, 0x80),
    () => insert(0xef, 0xbb, 0xbf),
    () => insert(0x0d),
    () => Buffer.from(` ${line}\t\r`),
    () => Buffer.from(line.replace('{', '{"id":1,"id":"twice",')),
    () => Buffer.from(line.replace('{', '{"__proto__":{"method":"hello","id":3},')),
    () => Buffer.from(line.replace(/"params":/, '"params":1e400,"params":')),
    () => Buffer.from(line.replace(/"id":[^,]*,/, '"id":1e400,')),
    () => Buffer.from(line.replace(/"id":[^,]*,/, '"id":-0,')),
    () => Buffer.from(`${line}${line}`),
    () => Buffer.from('['.repeat(1 + dice.below(8000))),
    () => nested(dice, line),
    () =>
      Buffer.from(
        Uint8Array.from({ length: 1 + dice.below(200) }, () => dice.below(256)).filter((b) => b !== 0x0a),
      ),
  ];
  return dice.pick(make)();
}

/** Well-formed, and deeper than any recursion should go. */
function nested(dice: Dice, line: string): Buffer {
  const depth = 1 + dice.below(7000);
  const [open, close] = dice.oneIn(2) ? ['[', ']'] : ['{"a":', '}'];
  const inner = `${open.repeat(depth)}1${close.repeat(depth)}`;
  return Buffer.from(line.replace(/\}$/, `,"params":${inner}}`));
}
