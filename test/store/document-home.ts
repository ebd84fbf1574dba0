/** A document with one list, over a vault whose item `newest` answers as the test says. */
import { createSecretKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { listOf, openDocument, type DocumentOptions } from '../../src/store/home-document.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { MissingItem } from '../../src/vault/base/trouble.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export const itemSchema = z.object({ name: z.string(), denies: z.boolean().optional() });
export type Item = z.infer<typeof itemSchema>;

type Answer = 'works' | 'fails' | 'keeps and fails' | 'hangs';

/** The vault of a home, which outlives its brokers. */
export class VaultDouble {
  readonly kind = 'keychain';
  readonly items = new Map<string, string>();
  reads: Answer = 'works';
  writes: Answer = 'works';
  readonly calls: string[] = [];

  async get(name: string): Promise<string> {
    this.calls.push('read');
    await answered(this.reads);
    const text = this.items.get(name);
    if (text === undefined) throw new MissingItem(name);
    return text;
  }

  async replace(id: string, before: string | undefined, text: string): Promise<string | undefined> {
    this.calls.push('write');
    const isKept = this.writes === 'works' || this.writes === 'keeps and fails';
    if (isKept && this.items.get(id) === before) this.items.set(id, text);
    await answered(this.writes);
    return this.items.get(id);
  }

  get isAway(): boolean {
    return this.reads === 'fails';
  }

  set away(isAway: boolean) {
    this.reads = isAway ? 'fails' : 'works';
    this.writes = isAway ? 'fails' : 'works';
  }

  get number(): number | undefined {
    const text = this.items.get('newest');
    return text === undefined ? undefined : (JSON.parse(text) as { number: number }).number;
  }
}

async function answered(how: Answer): Promise<void> {
  if (how === 'hangs') await new Promise<never>(() => undefined);
  if (how !== 'works') throw new KeyturnError('vault_unavailable', 'the vault is out of order');
}

export class DocumentHome {
  readonly folder = temporaryFolder();
  readonly vault = new VaultDouble();
  readonly file = path.join(this.folder, 'document.json');

  /** A broker that starts here. */
  async open(parts: Partial<DocumentOptions> = {}) {
    const document = openDocument({
      folder: this.folder,
      place: { home: 'A'.repeat(22), vault: 'keychain' },
      vault: this.vault,
      root: async () => createSecretKey(Buffer.alloc(32, 7)),
      ...parts,
    });
    const list = listOf(document, 'items', itemSchema, {
      keyOf: ({ name }) => name,
      isLess: ({ denies }) => denies === true,
    });
    await document.load().catch(() => undefined);
    return { document, list };
  }

  /** One that starts here and verifies. */
  async start(parts?: Partial<DocumentOptions>): Promise<Opened> {
    const opened = await this.open(parts);
    await opened.document.verify();
    return opened;
  }

  get text(): string {
    return readFileSync(this.file, 'utf8');
  }

  set text(text: string) {
    writeFileSync(this.file, text, { mode: 0o600 });
  }
}

export type Opened = Awaited<ReturnType<DocumentHome['open']>>;

export const namesOf = ({ list }: Opened): string[] => list.items.map(({ name }) => name);

export const add =
  (...items: Item[]) =>
  (before: readonly Item[]): readonly Item[] => [...before, ...items];

export const without = (name: string) => (items: readonly Item[]) =>
  items.filter((item) => item.name !== name);

/** A home whose document has `a` and `b`, and a broker that runs there. */
export async function savedHome() {
  const home = new DocumentHome();
  const broker = await home.start();
  await broker.list.change(add({ name: 'a' }));
  await broker.list.change(add({ name: 'b' }));
  return { home, broker };
}
