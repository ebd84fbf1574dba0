/**
 * Registrations: the OAuth client identities Keyturn uses, one in use per issuer. A list of the document.
 *
 * Invariant: a registration never leaves its issuer, and it is reused across sessions rather than made again. A new one
 * replaces another only once a sign-in with it has succeeded. Its secret is in the vault only, in an item that the
 * record names.
 */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { union } from '../../oauth/base/scope.ts';
import { registrationSchema, type Registration } from '../../oauth/client/registration.ts';
import type { RecordRules } from '../../store/list-rules.ts';
import type { RecordList } from '../../store/home-document.ts';
import { itemNameSchema } from '../../store/unused-items.ts';
import type { VaultItems } from '../../store/vault-items.ts';

export const registrationRecordSchema = z.object({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  registration: registrationSchema,
  /** The vault's item with its secret or private key. Absent: it has none. */
  secret: itemNameSchema.optional(),
  /** The user entered it to get tokens without a user; absent: for sign-ins. */
  grantType: z.enum(['client_credentials', 'id-jag', 'jwt-bearer']).optional(),
  /**
   * For id-jag: who signs the user in. With a file: what we are called there, and where another program keeps the ID
   * token. Without: the user signs in there through us (records/company.ts).
   */
  idp: z
    .object({ issuer: z.string(), clientId: z.string().optional(), idTokenFile: z.string().optional() })
    .optional(),
  /** For jwt-bearer: where the workload's assertion comes from; never the assertion. */
  assertion: z.string().optional(),
  /** The server said that it no longer knows this client. Sign-ins still name it, new ones no longer use it. */
  isRejected: z.boolean().optional(),
  /** Another registration is in use at this issuer, and no sign-in with this one has succeeded yet. */
  isOnTrial: z.boolean().optional(),
});

export type RegistrationRecord = z.infer<typeof registrationRecordSchema>;

/** A client that is rejected, or may ask for less. */
export const registrationRules: RecordRules<RegistrationRecord> = {
  keyOf: ({ id }) => id,
  itemsOf: ({ secret }) => (secret === undefined ? [] : [secret]),
  isLess: (after, before) =>
    isDeepStrictEqual(withoutMarks(after), before && withoutMarks(before)) &&
    (before?.isRejected !== true || after.isRejected === true),
};

/** Without what only takes away. */
function withoutMarks({ isRejected: _is, registration, ...rest }: RegistrationRecord): unknown {
  const { refusedScope: _scope, ...fields } = registration;
  return { ...rest, ...fields };
}

export class Registrations {
  readonly #file: RecordList<RegistrationRecord>;
  readonly #items: VaultItems;
  /** Ids of those whose last page nobody came back from: the server may have forgotten them (OAuth 2.1 §4.1.2.1). */
  readonly unanswered = new Set<string>();

  constructor(file: RecordList<RegistrationRecord>, items: VaultItems) {
    this.#file = file;
    this.#items = items;
  }

  all(): readonly RegistrationRecord[] {
    return this.#file.items;
  }

  /** To list: verified or not. */
  shown(): readonly RegistrationRecord[] {
    return this.#file.shown;
  }

  /** Verified or not, and none if the file can't be read: for what only takes something away. */
  readable(): readonly RegistrationRecord[] {
    return this.#file.readable;
  }

  /** For lists: why a sign-in doesn't use it; undefined if one does. Verified or not. */
  standing(record: RegistrationRecord, now: number): 'replaced' | 'rejected' | 'trial' | undefined {
    if (record.isRejected) return 'rejected';
    if (record.isOnTrial) return 'trial';
    if (record.grantType !== undefined) return undefined;
    const current = inUse(this.#file.shown, record.registration.issuer, now);
    return current && current.id !== record.id ? 'replaced' : undefined;
  }

  byId(id: string): RegistrationRecord | undefined {
    return this.#file.items.find((record) => record.id === id);
  }

  /** The first that the user entered, else the newest of our own; none that was rejected or whose secret has expired. */
  for(issuer: string, now: number): RegistrationRecord | undefined {
    return inUse(this.#file.items, issuer, now);
  }

  /** The newest registration at this issuer that shall replace another one. */
  onTrial(issuer: string, now: number): RegistrationRecord | undefined {
    return this.#file.items.findLast((record) => record.isOnTrial && isUsable(record, issuer, now));
  }

  /** True if the user entered any client that gets tokens without a user. */
  hasUnattended(): boolean {
    return this.#file.items.some((record) => record.grantType !== undefined);
  }

  /** The secret is durable before the record names it. */
  async add(
    registration: Registration,
    secret: string | undefined,
    purpose: Pick<RegistrationRecord, 'grantType' | 'idp' | 'assertion' | 'isOnTrial'> = {},
  ): Promise<RegistrationRecord> {
    const id = randomBytes(8).toString('hex');
    return this.#kept({ id, registration, ...purpose }, secret, (items, record) => [...items, record]);
  }

  /** Enters the same client again under its own id, so that its sign-ins go on with what is entered now. */
  async renew(
    { id }: RegistrationRecord,
    registration: Registration,
    secret: string | undefined,
    purpose: Pick<RegistrationRecord, 'grantType' | 'idp' | 'assertion'>,
  ): Promise<void> {
    await this.#kept({ id, registration, ...purpose }, secret, (items, record) =>
      items.map((item) => (item.id === id ? record : item)),
    );
    await this.#items.tidy();
  }

  async #kept(
    fields: Omit<RegistrationRecord, 'secret'>,
    secret: string | undefined,
    change: (
      items: readonly RegistrationRecord[],
      record: RegistrationRecord,
    ) => readonly RegistrationRecord[],
  ): Promise<RegistrationRecord> {
    const write = async (record: RegistrationRecord): Promise<RegistrationRecord> => {
      await this.#file.change((items) => change(items, record));
      return record;
    };
    if (secret === undefined) return write(fields);
    return this.#items.keep('c', secret, (name) => write({ ...fields, secret: name }));
  }

  async secret({ secret }: RegistrationRecord): Promise<string | undefined> {
    return secret === undefined ? undefined : this.#items.get(secret);
  }

  /** The server no longer accepts it. The next sign-in registers again. Only the user replaces what the user entered. */
  async reject({ id, registration }: RegistrationRecord): Promise<void> {
    if (registration.source !== 'dynamic') return;
    await this.#file.change((items) => items.map((r) => (r.id === id ? { ...r, isRejected: true } : r)));
  }

  /** From now on it is in use. `refused`: the registration that the server refused in the same sign-in. */
  async succeeded({ id }: RegistrationRecord, refused: RegistrationRecord | undefined): Promise<void> {
    const isSettled = refused === undefined && this.byId(id)?.isOnTrial === undefined;
    if (isSettled) return;
    const rejectedId = refused?.registration.source === 'dynamic' ? refused.id : undefined;
    await this.#file.change((items) =>
      items.map((item) => {
        if (item.id === rejectedId) return { ...item, isRejected: true };
        const { isOnTrial: _over, ...settled } = item;
        return item.id === id ? settled : item;
      }),
    );
  }

  /** The server doesn't let this client ask for these scopes: no later sign-in does. */
  async refuseScope({ id }: RegistrationRecord, refused: readonly string[]): Promise<void> {
    const withoutScope = ({ registration, ...rest }: RegistrationRecord): RegistrationRecord => ({
      ...rest,
      registration: { ...registration, refusedScope: union(registration.refusedScope ?? [], refused) },
    });
    await this.#file.change((items) => items.map((item) => (item.id === id ? withoutScope(item) : item)));
  }

  /** Deletes a registration: the user enters another, or wants none. */
  async remove({ id }: RegistrationRecord): Promise<void> {
    await this.#file.change((items) => items.filter((item) => item.id !== id));
    await this.#items.tidy();
  }
}

function isUsable({ registration, isRejected }: RegistrationRecord, issuer: string, now: number): boolean {
  return registration.issuer === issuer && !isRejected && (registration.secretExpiresAt ?? Infinity) > now;
}

function inUse(
  records: readonly RegistrationRecord[],
  issuer: string,
  now: number,
): RegistrationRecord | undefined {
  const usable = records.filter((record) => !record.isOnTrial && isUsable(record, issuer, now));
  return usable.find(({ registration }) => registration.source === 'preregistered') ?? usable.at(-1);
}
