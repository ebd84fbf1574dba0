/**
 * Sends malformed frames to a real server on a real socket, and judges each answer by JSON-RPC and the wire protocol.
 *
 * Invariants tried: before authentication only the hello has a result. Then each request gets one answer, or the
 * connection closes. No answer or log line holds a planted secret. Memory and descriptors are given back.
 */
import { isUtf8 } from 'node:buffer';
import { readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { KeyturnError, quoted } from '../../src/base/errors.ts';
import { processParts } from '../../src/daemon/system/idle-collection.ts';
import { isMethod, methods } from '../../src/ipc/protocol/methods.ts';
import { frameLimit } from '../../src/ipc/wire/limits.ts';
import { admitted, helloLine, prove, RawClient, request, startRig } from './rig.ts';

/** What no answer may hold. */
const secret = 'planted-secret-hunter2';

/** Milliseconds that the clock goes on with each connection: refills what its requests took. */
const step = 50;

/** Bytes in use on the heap and in buffers, after a collection. */
export function memory(): number {
  const parts = processParts();
  // Buffers are given back only by the collection after the one that finds them unused.
  parts?.collect();
  parts?.collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How many descriptors this process has open; 0 where the system doesn't tell. */
export function openDescriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}

const oddValue = fc.oneof(
  fc.constantFrom<unknown>(null, -0, 2 ** 53, '', '\u0000', '\ud800', '\u202e', 'x'.repeat(5000)),
  fc.jsonValue({ maxDepth: 3 }),
);
const oddName = fc.constantFrom('__proto__', 'constructor', 'toString', 'id', 'method', '', '\u0000');
const resource = 'https://a.example/mcp';
const rightParams = fc.constantFrom({}, { resource }, { resource, scope: ['read'], interaction: 'never' });

/** A request or notification, its id and params right or wrong. */
const requestText = fc
  .record(
    {
      jsonrpc: fc.constant('2.0'),
      id: fc.oneof(
        {
          weight: 30,
          arbitrary: fc.constantFrom(0, -1, 2 ** 53 - 1, 7, 'x'.repeat(64), '__proto__', '\ud800'),
        },
        { weight: 1, arbitrary: fc.oneof(fc.constant('x'.repeat(65)), oddValue) },
      ),
      method: fc.oneof(
        { weight: 15, arbitrary: fc.constantFrom(...Object.keys(methods)) },
        { weight: 1, arbitrary: fc.constantFrom('hello', 'authenticate', 'pair', 'token.get ', '__proto__') },
      ),
      params: fc.oneof(rightParams, fc.dictionary(oddName, oddValue), oddValue),
    },
    { requiredKeys: ['jsonrpc', 'method'] },
  )
  .map((message) => JSON.stringify(message));

/** Well-formed, and deeper than any recursion should go. */
const deepText = fc
  .nat(7000)
  .map(
    (depth) => `{"jsonrpc":"2.0","id":1,"method":"status","params":${'['.repeat(depth)}${']'.repeat(depth)}}`,
  );

/** Texts that no value can express, at any place of a message. */
const pieces = ['00', 'ff', 'c3', 'eda080', 'efbbbf', '0d', '5b', '7b226964223a312c'];
const bentFrame = fc.oneof(
  fc
    .tuple(requestText, fc.nat(400), fc.constantFrom(...pieces))
    .map(([line, at, piece]) =>
      Buffer.concat([Buffer.from(line.slice(0, at)), Buffer.from(piece, 'hex'), Buffer.from(line.slice(at))]),
    ),
  fc.tuple(requestText, fc.nat(200)).map(([line, at]) => Buffer.from(line.slice(0, at))),
  fc
    .tuple(
      requestText,
      fc.constantFrom('{"id":1,"id":"twice",', '{"__proto__":{"id":3},', '{"id":1e400,', '[{'),
    )
    .map(([line, begin]) => Buffer.from(line.replace('{', begin))),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a))),
  oddValue.map((value) => Buffer.from(JSON.stringify(value))),
  deepText.map((text) => Buffer.from(text)),
);
const tooLong = fc
  .tuple(requestText, fc.nat(1))
  .map(([line, more]) => Buffer.from(line.padEnd(frameLimit + more, ' ')));

const frames = fc.array(
  fc.oneof(
    { weight: 2000, arbitrary: requestText.map((line) => Buffer.from(line)) },
    { weight: 100, arbitrary: bentFrame },
    { weight: 1, arbitrary: tooLong },
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
);

type Verdict = { readonly kind: 'request'; readonly id: unknown } | { readonly kind: 'silent' | 'fatal' };

/** What must become of a frame, judged without the code under test. */
function verdictOn(frame: Buffer): Verdict {
  const fatal = { kind: 'fatal' } as const;
  if (frame.length > frameLimit || !isUtf8(frame)) return fatal;
  let message: unknown;
  try {
    message = JSON.parse(frame.toString('utf8'));
  } catch {
    return fatal;
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return fatal;
  const { jsonrpc, id, method } = Object.assign(Object.create(null), message);
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method === '' || method.length > 64) return fatal;
  if (id === undefined) return { kind: 'silent' };
  const isId = typeof id === 'string' ? id !== '' && id.length <= 64 : Number.isSafeInteger(id);
  return isId ? { kind: 'request', id } : fatal;
}

/** What a method may do: answer, refuse, fail with a secret in hand, answer what JSON can't say. */
const outcomes: readonly ((params: unknown) => unknown)[] = [
  (params) => ({ params }),
  () => undefined,
  () => 1n,
  () => {
    throw new Error(secret);
  },
  () => {
    throw new KeyturnError('login_failed', 'no', { hint: 'look', cause: new Error(secret) });
  },
  () => ({
    toJSON: () => {
      throw new Error(secret);
    },
  }),
];

/** In two pieces that come at different times, cut anywhere. */
async function send({ socket }: RawClient, all: readonly Buffer[], cut: number): Promise<void> {
  const bytes = Buffer.concat(all.flatMap((frame) => [frame, Buffer.from('\n')]));
  const at = Math.floor(cut * bytes.length);
  socket.write(bytes.subarray(0, at));
  await nextTurn();
  socket.write(bytes.subarray(at));
}

/** What the broker says until so many answers have come, or until it hangs up. */
async function heard(client: RawClient, count = Number.POSITIVE_INFINITY) {
  const answers: Readonly<Record<string, unknown>>[] = [];
  while (answers.length < count) {
    const answer = await client.next();
    if (!answer) break;
    answers.push(answer);
  }
  if (JSON.stringify(answers).includes(secret)) throw new Error('an answer holds a planted secret');
  return answers;
}

/** At least so many frames. Throws at the first broken promise; the error names the seed. */
export async function fuzz(wanted: number, seed: number) {
  const descriptors = openDescriptors();
  const sum = { frames: 0, connections: 0, requests: 0, ended: 0 };
  let pid = 1;
  let turn = 0;
  const rig = await startRig({
    /** As the daemon does, and then as no method of ours would. */
    dispatch: async (_caller, method, params) => {
      turn += 1;
      if (turn % 5 === 0) await nextTurn();
      if (isMethod(method) && !methods[method].params.safeParse(params ?? {}).success)
        throw new KeyturnError('invalid_request', `${quoted(method)}: bad value`);
      return outcomes[turn % outcomes.length]?.(params);
    },
    // Each connection is another program's: this run is about frames, not about rates.
    readPeer: () => ({ kind: 'verified', uid: process.getuid?.() ?? 0, gid: 0, pid: (pid += 1) }),
  });
  const identity = rig.enrol();
  const line = helloLine(identity, rig.server.socketId);
  const pair = JSON.stringify(
    request(1, 'pair', { versions: [1], name: 'x', socketId: rig.server.socketId }),
  );
  const firsts = [line, pair, JSON.stringify(prove('x'.repeat(43)))];

  const stranger = async (sent: readonly Buffer[], first: string | undefined, cut: number) => {
    const client = new RawClient(rig.socket);
    const all = first === undefined ? sent : [Buffer.from(first), ...sent];
    await send(client, all, cut);
    client.socket.end();
    const results = (await heard(client)).filter((answer) => 'result' in answer);
    for (const { result } of results)
      if (Object.keys(Object(result)).sort().join() !== 'brokerId,capabilities,nonce,proof,version')
        throw new Error(`a stranger got ${JSON.stringify(result)}`);
    if (results.length > 1) throw new Error('a stranger got two results');
    return all.length;
  };

  const client = async (sent: readonly Buffer[], cut: number) => {
    const raw = await admitted(rig, identity);
    const verdicts = sent.map(verdictOn);
    const end = verdicts.findIndex(({ kind }) => kind === 'fatal');
    const isFatal = end >= 0;
    const open = verdicts
      .slice(0, isFatal ? end : verdicts.length)
      .flatMap((verdict) => (verdict.kind === 'request' ? [JSON.stringify(verdict.id)] : []));
    sum.requests += open.length;
    if (isFatal) sum.ended += 1;
    await send(raw, sent, cut);
    const answers = await heard(raw, isFatal ? undefined : open.length);
    // Its last words may be lost if the broker hung up while this end was writing.
    const broke = Boolean(raw.socket.errored);
    raw.socket.end();
    answers.push(...(await heard(raw)));
    const last = isFatal && answers.at(-1)?.['id'] === null ? answers.pop() : undefined;
    if (isFatal && !broke && !last) throw new Error('a malformed frame ended the connection without a word');
    for (const answer of answers) {
      const text = JSON.stringify(answer).slice(0, 500);
      if (answer['jsonrpc'] !== '2.0' || 'result' in answer === 'error' in answer)
        throw new Error(`no answer: ${text}`);
      const at = open.indexOf(JSON.stringify(answer['id']));
      if (at < 0) throw new Error(`an answer to nothing: ${text}`);
      open.splice(at, 1);
    }
    if (!isFatal && open.length > 0) throw new Error(`${open.length} requests were not answered`);
    return sent.length;
  };

  const cut = fc.double({ min: 0, max: 1, noNaN: true });
  const first = fc.option(fc.constantFrom(...firsts), { nil: undefined });
  /** Two connections at once, so that their frames interleave, until so many were sent in all. */
  const run = async (until: number, round: number) => {
    for (let part = 0; sum.frames < until; part += 1)
      await fc.assert(
        fc.asyncProperty(frames, frames, first, cut, async (ours, theirs, begin, at) => {
          const few = theirs.slice(0, 3);
          const sent = await Promise.all([client(ours, at), stranger(few, begin, at)]);
          sum.frames += sent[0] + sent[1];
          sum.connections += 2;
          const events = JSON.stringify(rig.events.splice(0));
          if (events.includes(secret)) throw new Error('the log holds a planted secret');
          rig.clock.turn(step);
        }),
        { seed: seed + round + part, numRuns: 200 },
      );
  };
  await run(wanted / 10, 0);
  const before = memory();
  await run(wanted, 1_000_000);
  const heapGrowth = memory() - before;
  await rig.stop();
  return { seed, ...sum, heapGrowth, descriptorGrowth: openDescriptors() - descriptors };
}
