/**
 * What the broker and its keychain worker say to each other.
 *
 * Invariant: each side parses each message with these schemas before it uses a field.
 */
import { z } from 'zod';

/** Matches one answer to one request. */
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
    /** `module`: keytar isn't there or doesn't load. `keychain`: the keychain itself refused. */
    failure: z.enum(['module', 'keychain']),
    /** Already passed through `quoted`, which bounds it. */
    message: z.string(),
  }),
]);
export type KeychainAnswer = z.infer<typeof answerSchema>;
