/** A refresh with an unknown outcome. The vault's item of the sign-in has it (grants/grant-secret.ts). */
import { z } from 'zod';

/**
 * It is stored before the request leaves, and removed with the outcome. An
 * attempt that a later run finds was under way when the broker ended.
 */
export const attemptSchema = z.object({
  /** At most the largest date of JavaScript. */
  startedAt: z.number().nonnegative().max(8.64e15),
  /** The broker kept running, but has no answer: the network lost it, or it could not be stored. */
  isUnanswered: z.boolean().optional(),
});

export type RefreshAttempt = z.infer<typeof attemptSchema>;
