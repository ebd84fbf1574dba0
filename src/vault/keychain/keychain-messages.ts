/**
 * The messages between the broker and its keychain worker.
 *
 * Invariant: each side parses each message with these schemas before it uses a field.
 */
import { z } from 'zod';

/** An answer has the id of its request. */
const id = z.int().positive();

const item = { id, service: z.string().min(1), account: z.string().min(1) };

export const requestSchema = z.discriminatedUnion('op', [
  z.object({ ...item, op: z.literal('get') }),
  z.object({ ...item, op: z.literal('set'), value: z.string().min(1) }),
  z.object({ ...item, op: z.literal('remove') }),
]);
export type KeychainRequest = z.infer<typeof requestSchema>;

/** `get` answers the value or null, `set` null, `remove` whether there was something to remove. */
export const answerSchema = z.discriminatedUnion('ok', [
  z.object({ id, ok: z.literal(true), value: z.union([z.string(), z.boolean(), z.null()]) }),
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
