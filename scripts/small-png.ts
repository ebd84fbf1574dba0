/**
 * A picture as a smaller file: the pixels that a browser packed in a hurry, packed with care.
 *
 * Invariant: no pixel changes. Takes what Chromium writes: 8 bits a channel, not interlaced.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signature = 8;

/** Bytes of a pixel by PNG's colour types, RGB and RGBA. */
const pixelBytes: Readonly<Record<number, number | undefined>> = { 2: 3, 6: 4 };

export function smallPng(picture: Buffer): Buffer {
  const parts = chunks(picture);
  const header = parts.find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(13);
  const size = pixelBytes[header.readUInt8(9)];
  if (size === undefined) return picture;
  const packed = Buffer.concat(parts.filter(({ type }) => type === 'IDAT').map(({ data }) => data));
  const rows = unfiltered(inflateSync(packed), header.readUInt32BE(0) * size, size);
  // Flat areas repeat whole rows: without a filter the packer sees them.
  const data = deflateSync(rows, { level: 9, memLevel: 9 });
  const small = Buffer.concat([
    picture.subarray(0, signature),
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  return small.length < picture.length ? small : picture;
}

function chunks(picture: Buffer): { readonly type: string; readonly data: Buffer }[] {
  const found: { type: string; data: Buffer }[] = [];
  for (let at = signature; at < picture.length;) {
    const length = picture.readUInt32BE(at);
    const type = picture.toString('latin1', at + 4, at + 8);
    found.push({ type, data: picture.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return found;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** The rows as they are, each after a 0: "no filter" (PNG §9.2 has the filters). */
function unfiltered(filtered: Buffer, width: number, size: number): Buffer {
  const rows = Buffer.alloc(filtered.length);
  for (let start = 0; start < filtered.length; start += width + 1) {
    const filter = filtered.readUInt8(start);
    for (let at = start + 1; at <= start + width; at += 1) {
      const isFirst = at - start <= size;
      const left = isFirst ? 0 : (rows[at - size] ?? 0);
      const above = start === 0 ? 0 : (rows[at - width - 1] ?? 0);
      const corner = isFirst || start === 0 ? 0 : (rows[at - width - 1 - size] ?? 0);
      rows[at] = (filtered[at] ?? 0) + guess(filter, left, above, corner);
    }
  }
  return rows;
}

function guess(filter: number, left: number, above: number, corner: number): number {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return above;
    case 3:
      return (left + above) >> 1;
    case 4:
      return paeth(left, above, corner);
    default:
      return 0;
  }
}

function paeth(left: number, above: number, corner: number): number {
  const sum = left + above - corner;
  const [toLeft, toAbove, toCorner] = [left, above, corner].map((value) => Math.abs(sum - value));
  if (toLeft === undefined || toAbove === undefined || toCorner === undefined) return 0;
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
