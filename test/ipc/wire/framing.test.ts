/** Frames come out of a reader as they went into the stream, however the stream is cut. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeFrame, FrameReader } from '../../../src/ipc/wire/framing.ts';
import { frameLimit } from '../../../src/ipc/wire/limits.ts';
import { memory } from '../fuzz.ts';
import { anyText } from '../../support/any-text.ts';

function drain(reader: FrameReader): Buffer[] {
  const frames: Buffer[] = [];
  for (let frame = reader.next(); frame; frame = reader.next()) frames.push(frame);
  return frames;
}

/** The stream in pieces, cut where `cuts` say (as shares of its length). */
function pieces(stream: Buffer, cuts: readonly number[]): Buffer[] {
  const at = cuts.map((cut) => Math.floor(cut * stream.length)).sort((a, b) => a - b);
  return [0, ...at].map((start, i) => stream.subarray(start, at[i] ?? stream.length));
}

const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 });

test('gives the same frames wherever the stream is split', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 8 }), cuts, fc.boolean(), (values, at, late) => {
      const frames = values.map((value) => encodeFrame({ value }));
      const reader = new FrameReader(frameLimit);
      const seen: Buffer[] = [];
      for (const piece of pieces(Buffer.from(frames.map((frame) => `${frame}\n`).join('')), at)) {
        reader.push(piece);
        if (!late) seen.push(...drain(reader));
      }
      seen.push(...drain(reader));
      expect(seen.map(String)).toEqual(frames);
      expect(reader.buffered).toBe(0);
    }),
  );
});

test('refuses a line past the limit wherever the stream is split, and none within it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 64 }),
      fc.integer({ min: 1, max: 128 }),
      cuts,
      (limit, length, at) => {
        const stream = Buffer.concat([Buffer.alloc(length, 'x'), Buffer.from('\n')]);
        const read = () => {
          const reader = new FrameReader(limit);
          return pieces(stream, at).flatMap((piece) => {
            reader.push(piece);
            return drain(reader);
          });
        };
        if (length > limit) expect(read).toThrow(/longer than/);
        else expect(read().map((frame) => frame.length)).toEqual([length]);
      },
    ),
  );
});

test('refuses a line past the limit before it ends', () => {
  const reader = new FrameReader(10);
  reader.push(Buffer.alloc(11, 'x'));
  expect(() => reader.next()).toThrow(/longer than 10 bytes/);
});

test('applies the current limit to each frame of one chunk', () => {
  const reader = new FrameReader(4);
  reader.push(Buffer.from('abcd\nabcdefgh\nabcdefgh\n'));
  expect(String(reader.next())).toBe('abcd');
  reader.limit = 8;
  expect(String(reader.next())).toBe('abcdefgh');
  reader.limit = 4;
  expect(() => reader.next()).toThrow(/longer than 4 bytes/);
});

test('never writes a line feed within a frame', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      expect(encodeFrame({ text }).includes('\n')).toBe(false);
    }),
  );
});

test('refuses to write a frame that the other end would refuse', () => {
  expect(() => encodeFrame({ text: 'x'.repeat(frameLimit) })).toThrow(/longer than/);
});

test('counts the bytes of a frame, not its characters', () => {
  const text = '€'.repeat(10);
  const { length } = Buffer.from(JSON.stringify({ text }));
  expect(encodeFrame({ text }, length)).toBe(JSON.stringify({ text }));
  expect(() => encodeFrame({ text }, length - 1)).toThrow(/longer than/);
});

test('holds a frame that comes byte by byte in little more memory than its size', () => {
  const length = 200_000;
  const begun = new FrameReader(frameLimit);
  const waiting = new FrameReader(frameLimit);
  const before = memory();
  for (let i = 0; i < length; i += 1) {
    begun.push(Buffer.from('x'));
    begun.next();
    waiting.push(Buffer.from('x'));
  }
  // Stored one by one, the pieces would take some forty million bytes.
  expect(memory() - before).toBeLessThan(20 * length);
  for (const reader of [begun, waiting]) {
    expect(reader.buffered).toBe(length);
    reader.push(Buffer.from('\n'));
    expect(reader.next()?.length).toBe(length);
    expect(reader.buffered).toBe(0);
  }
});
