/**
 * One secret in a store of small items, kept in two slots, so that a crash at any point loses nothing.
 *
 * Layout under an id: `ID/a/head`, `ID/a/0`, `ID/a/1`… and the same under `b`. A slot is valid when its
 * head parses, all its chunks are there, and length and hash agree. Invariant: the highest valid
 * generation is never touched until a higher one was read back; heads are written last and removed last,
 * so that what a crash leaves is either found again by its head or lies in one run from chunk 0.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { quoted } from '../../base/errors.ts';
import { VaultError } from '../base/trouble.ts';
import { maxSecretLength } from '../base/vault.ts';

/** The store below. `get` answers undefined for what it can't see, be it absent or locked. */
export interface Items {
  get(account: string): Promise<string | undefined>;
  set(account: string, value: string): Promise<void>;
  /** Whether there was something to remove. */
  remove(account: string): Promise<boolean>;
}

/**
 * Characters of base64url an item. Windows takes 2,560 bytes an item and may count two a character;
 * 1,200 stays below with room to spare. One size everywhere: one layout to test and to explain.
 */
export const chunkLength = 1200;

/** What the longest secret needs, in base64 (4 characters for 3 bytes); a head that says more is damaged. */
const maxChunks = Math.ceil((maxSecretLength * 4) / 3 / chunkLength) + 1;

const slotNames = ['a', 'b'] as const;
type SlotName = (typeof slotNames)[number];

const headSchema = z.object({
  generation: z.int().positive(),
  chunks: z.int().positive().max(maxChunks),
  /** Bytes of UTF-8 of the secret. */
  length: z.int().positive(),
  /** Of those bytes, base64url. */
  sha256: z.string(),
});
type Head = z.infer<typeof headSchema>;

/** The newest whole copy of a secret. */
interface Copy {
  readonly slot: SlotName;
  readonly generation: number;
  readonly secret: string;
}

export interface Slots {
  /** False when neither slot has a head: there is no such item, as far as the store could see. */
  readonly exists: boolean;
  /** Undefined although `exists`: no slot is whole. */
  readonly newest: Copy | undefined;
}

/** What the store shows under `id`. Errors of the store pass through. */
export async function readSlots(items: Items, id: string): Promise<Slots> {
  const heads: { readonly slot: SlotName; readonly head: Head }[] = [];
  let exists = false;
  for (const slot of slotNames) {
    const text = await items.get(headAccount(id, slot));
    if (text === undefined) continue;
    exists = true;
    const head = parseHead(text);
    if (head) heads.push({ slot, head });
  }
  heads.sort((x, y) => y.head.generation - x.head.generation);
  for (const { slot, head } of heads) {
    const secret = await readChunks(items, id, slot, head);
    if (secret !== undefined) return { exists, newest: { slot, generation: head.generation, secret } };
  }
  return { exists, newest: undefined };
}

/**
 * Keeps `secret` as the generation after `newest`, reads it back, and only then removes the old slot.
 * Throws `vault_unreadable` if the store gives back something else; the old generation stays then.
 */
export async function writeSlot(
  items: Items,
  id: string,
  secret: string,
  newest: Copy | undefined,
): Promise<void> {
  const slot = newest?.slot === 'a' ? 'b' : 'a';
  const generation = (newest?.generation ?? 0) + 1;
  await clearSlot(items, id, slot);
  await fillSlot(items, id, slot, generation, secret);
  const { newest: kept } = await readSlots(items, id);
  if (kept?.slot !== slot || kept.generation !== generation || kept.secret !== secret)
    throw new VaultError('damaged', `what was written for ${quoted(id)} can't be read back`, {
      item: id,
      rule: 'vault: a value counts as kept only when it was read back',
      hint: 'check that your keyring is unlocked and not full',
    });
  // The new value is durable: leftovers of the old one are no reason to call the write failed. The next write clears them.
  await clearSlot(items, id, slot === 'a' ? 'b' : 'a').catch(() => undefined);
}

/** Removes both slots, the one with the newest copy last: a crash in between brings nothing old back. */
export async function removeSlots(items: Items, id: string, newest: Copy | undefined): Promise<void> {
  for (const slot of newest?.slot === 'a' ? (['b', 'a'] as const) : slotNames)
    await clearSlot(items, id, slot);
}

async function fillSlot(
  items: Items,
  id: string,
  slot: SlotName,
  generation: number,
  secret: string,
): Promise<void> {
  const bytes = Buffer.from(secret, 'utf8');
  const text = bytes.toString('base64url');
  const chunks = Math.ceil(text.length / chunkLength);
  for (let n = 0; n < chunks; n++)
    await items.set(chunkAccount(id, slot, n), text.slice(n * chunkLength, (n + 1) * chunkLength));
  const head: Head = { generation, chunks, length: bytes.length, sha256: sha256(bytes) };
  await items.set(headAccount(id, slot), JSON.stringify(head));
}

async function clearSlot(items: Items, id: string, slot: SlotName): Promise<void> {
  const text = await items.get(headAccount(id, slot));
  const known = (text === undefined ? undefined : parseHead(text)?.chunks) ?? 0;
  // On past the head's count: a write that ended before its head left a run of chunks from 0.
  for (let n = 0, removed = true; n < known || removed; n++)
    removed = await items.remove(chunkAccount(id, slot, n));
  if (text !== undefined) await items.remove(headAccount(id, slot));
}

async function readChunks(items: Items, id: string, slot: SlotName, head: Head): Promise<string | undefined> {
  const chunks: string[] = [];
  for (let n = 0; n < head.chunks; n++) {
    const chunk = await items.get(chunkAccount(id, slot, n));
    if (chunk === undefined) return undefined;
    chunks.push(chunk);
  }
  const bytes = Buffer.from(chunks.join(''), 'base64url');
  if (bytes.length !== head.length || sha256(bytes) !== head.sha256) return undefined;
  return bytes.toString('utf8');
}

function parseHead(text: string): Head | undefined {
  try {
    return headSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function headAccount(id: string, slot: SlotName): string {
  return `${id}/${slot}/head`;
}

function chunkAccount(id: string, slot: SlotName, n: number): string {
  return `${id}/${slot}/${n}`;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
