/**
 * The messages between the broker and its keychain worker.
 *
 * Invariant: each side parses each message with these schemas before it uses a field.
 */
import { z } from 'zod';

/** An answer has the id of its request. */
const id = z.int().positive();

const place = { id, service: z.string().min(1) };
const item = { ...place, account: z.string().min(1) };

export const requestSchema = z.discriminatedUnion('op', [
  z.object({ ...item, op: z.literal('get') }),
  z.object({ ...item, op: z.literal('set'), value: z.string().min(1) }),
  z.object({ ...item, op: z.literal('delete') }),
  z.object({ ...place, op: z.literal('list') }),
  /** Sets the item only if it shows `before`; null: nothing. */
  z.object({ ...item, op: z.literal('replace'), before: z.string().nullable(), value: z.string().min(1) }),
  /** Sets the item only if the keychain shows none after it kept, showed and deleted the item `probe`. */
  z.object({ ...item, op: z.literal('create'), probe: z.string().min(1), value: z.string().min(1) }),
]);
export type KeychainRequest = z.infer<typeof requestSchema>;

/** `list` answers the names of all items of the service. All others answer the value that the item shows at the end, or null; `create` null if the keychain isn't open. */
export const answerSchema = z.discriminatedUnion('ok', [
  z.object({ id, ok: z.literal(true), value: z.union([z.string(), z.array(z.string())]).nullable() }),
  z.object({
    id,
    ok: z.literal(false),
    /** `module`: keytar is missing or doesn't load. `keychain`: the keychain itself refused. */
    failure: z.enum(['module', 'keychain']),
    /** Output of `quoted`, which limits its length. */
    message: z.string(),
  }),
]);
export type KeychainAnswer = z.infer<typeof answerSchema>;
