/**
 * Local clients: programs on this machine that were paired, and the CLI, which always is.
 *
 * Invariant: no key stands here. A client's key is derived from the home's master secret, its id
 * and its generation; removing a client, or raising its generation, makes the key worthless.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { KeyturnError, quoted } from '../errors.ts';
import type { RecordFile } from './record-file.ts';

export const localClientSchema = z.object({
  id: z.string(),
  /** As the program called itself. Proves nothing. */
  name: z.string(),
  generation: z.number().int().positive(),
  pairedAt: z.number(),
  /** False until the first good hello; a pairing that never says hello is void. */
  confirmed: z.boolean(),
  executable: z.string().optional(),
  lastUsedAt: z.number().optional(),
});

export type LocalClient = z.infer<typeof localClientSchema>;

/** `keyturn token` asks under this name; its key is owner.key, so it needs no pairing. */
export const cliClientId = 'cli';

/** What stands for the CLI in a list: never paired, since its key is the owner's. */
const cli: LocalClient = { id: cliClientId, name: cliClientId, generation: 1, pairedAt: 0, confirmed: true };

/** How long a fresh key waits for its first hello, in milliseconds (DESIGN, PAIR). */
const confirmWithin = 60_000;

/** What is left of a name when case, spaces and compatibility forms (Unicode NFKC) are taken away. */
function likenessOf(name: string): string {
  return name.normalize('NFKC').toLowerCase().replace(/\s+/gu, '');
}

export class LocalClients {
  readonly #file: RecordFile<LocalClient>;
  /** Kept in memory, written along with the next change: a token request does no disk I/O. */
  readonly #lastUsed = new Map<string, number>();

  constructor(file: RecordFile<LocalClient>) {
    this.#file = file;
  }

  all(): LocalClient[] {
    return this.#file.items.map((client) => this.#withLastUse(client));
  }

  /** The paired ones, after the CLI. */
  withCli(): LocalClient[] {
    return [this.#withLastUse(cli), ...this.all()];
  }

  /** A paired client whose key still opens the socket at `now` (milliseconds). */
  usable(id: string, now: number): LocalClient | undefined {
    const client = this.#file.items.find((c) => c.id === id);
    return client && (client.confirmed || client.pairedAt + confirmWithin > now) ? client : undefined;
  }

  /** The id for a name or an id a person typed. Throws `not_found`, or `conflict` for a shared name. */
  resolve(nameOrId: string): string {
    if (nameOrId === cliClientId) return cliClientId;
    // The id first: a program that calls itself by another's id must not make that one unreachable.
    if (this.#file.items.some((c) => c.id === nameOrId)) return nameOrId;
    const found = this.#file.items.filter((c) => c.name === nameOrId);
    if (found.length === 1 && found[0]) return found[0].id;
    if (found.length > 1) {
      throw new KeyturnError(
        'conflict',
        `${found.length} local clients call themselves ${quoted(nameOrId)}.`,
        {
          hint: 'Give the id that `keyturn clients` shows.',
        },
      );
    }
    throw new KeyturnError('not_found', `No local client named ${quoted(nameOrId)}.`, {
      hint: '`keyturn clients` shows the paired programs; a new one pairs itself.',
    });
  }

  /**
   * A name that a person would take for another program's. Throws `conflict`. The very same name is
   * allowed: a program that lost its key has to pair again, and the ids stay apart.
   */
  refuseConfusing(name: string): void {
    const likeness = likenessOf(name);
    const other = [cliClientId, ...this.#file.items.map((client) => client.name)].find(
      (known) => likenessOf(known) === likeness && (known !== name || known === cliClientId),
    );
    if (other === undefined) return;
    throw new KeyturnError(
      'conflict',
      `The name ${quoted(name)} looks like ${quoted(other)}, which is taken.`,
      {
        rule: 'A program may not pair under a name that differs from another one’s by case or spaces only',
        hint:
          other === cliClientId
            ? 'That is the command line itself. Choose another name.'
            : 'Choose another name.',
      },
    );
  }

  nameOf(id: string): string {
    return id === cliClientId ? cliClientId : (this.#file.items.find((c) => c.id === id)?.name ?? id);
  }

  async add(name: string, now: number, executable?: string): Promise<LocalClient> {
    const client: LocalClient = {
      id: randomBytes(16).toString('base64url'),
      name,
      generation: 1,
      pairedAt: now,
      confirmed: false,
      ...(executable === undefined ? {} : { executable }),
    };
    const living = this.#file.items.filter((c) => this.usable(c.id, now));
    await this.#file.save([...living, client]);
    return client;
  }

  async confirm(id: string): Promise<void> {
    const client = this.#file.items.find((c) => c.id === id);
    if (!client || client.confirmed) return;
    await this.#file.save(this.#file.items.map((c) => (c.id === id ? { ...c, confirmed: true } : c)));
  }

  async remove(id: string): Promise<void> {
    await this.#file.save(this.#file.items.filter((c) => c.id !== id));
  }

  used(id: string, now: number): void {
    this.#lastUsed.set(id, now);
  }

  /** Writes the times of last use; called when the broker stops. */
  async flush(): Promise<void> {
    if (this.#file.isLoaded && this.#lastUsed.size > 0) await this.#file.save(this.all());
  }

  #withLastUse(client: LocalClient): LocalClient {
    const lastUsedAt = this.#lastUsed.get(client.id) ?? client.lastUsedAt;
    return lastUsedAt === undefined ? client : { ...client, lastUsedAt };
  }
}
