/**
 * Stores one secret in several small items, in two slots, so that a crash at any point loses nothing.
 *
 * The items of an id are `ID/a/head`, `ID/a/0`, `ID/a/1`… and the same with `b`. A slot is valid if its head parses,
 * all its chunks exist, and length and hash match. The valid slot with the highest generation counts.
 *
 * Invariants: a write changes that slot only after it has read back the next generation from the other one. The head
 * of a slot is written last and removed last. So after a crash every chunk that is left over can be found: the head
 * counts it, or it is one of an unbroken row from chunk 0.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { quoted } from '../../base/errors.ts';
import { VaultError } from '../base/trouble.ts';
import { maxSecretLength } from '../base/vault.ts';

/** The store of small items. */
export interface Items {
  /** Undefined for an item that is absent, and for one that is locked. */
  get(account: string): Promise<string | undefined>;
  set(account: string, value: string): Promise<void>;
  /** True if the store removed an item. */
  remove(account: string): Promise<boolean>;
}

/**
 * Characters of base64url in each item. Windows stores up to 2,560 bytes in an item, and may count two bytes for each
 * character. All systems use the same size, so that there is one layout to test.
 */
export const chunkLength = 1200;

/** The chunks of the longest secret, in base64url (4 characters for 3 bytes). A head with more chunks is damaged. */
const maxChunks = Math.ceil((maxSecretLength * 4) / 3 / chunkLength) + 1;

const slotNames = ['a', 'b'] as const;
type SlotName = (typeof slotNames)[number];

const headSchema = z.object({
  generation: z.int().positive(),
  chunks: z.int().positive().max(maxChunks),
  /** Of the secret, in bytes of UTF-8. */
  length: z.int().positive(),
  /** The hash of those bytes, base64url. */
  sha256: z.string(),
});
type Head = z.infer<typeof headSchema>;

/** The secret of a valid slot. */
interface Copy {
  readonly slot: SlotName;
  readonly generation: number;
  readonly secret: string;
}

export interface Slots {
  /** False if the store shows no head in either slot. */
  readonly exists: boolean;
  /** The valid copy with the highest generation. If it is undefined although `exists`, the item is damaged. */
  readonly newest: Copy | undefined;
}

/** The slots of `id`, as the store shows them. Throws the errors of the store. */
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
 * Stores `secret` as the generation after `newest`, reads it back, and only then removes the old slot. Throws
 * `vault_unreadable` if the store returns anything else; the old slot stays then.
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
      hint: 'Check that your keyring is unlocked and not full.',
    });
  // The new value is durable, so the write succeeded even if the old slot can't be removed. The next write removes it.
  await clearSlot(items, id, slot === 'a' ? 'b' : 'a').catch(() => undefined);
}

/**
 * Removes both slots, the one with the newest copy last, so that a crash in between doesn't bring back an older copy.
 */
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
  // A crashed write can leave chunks that no head counts, in a row from 0: go on until a removal finds no item.
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
