/** The pause of all access, as the document keeps it. */
import { z } from 'zod';
import type { RecordRules } from '../../store/list-rules.ts';

/** Times in milliseconds since 1970, by the wall clock. */
const pauseSchema = z.object({
  since: z.number(),
  /** Absent: until the user resumes. */
  until: z.number().optional(),
});

export type Pause = Readonly<z.infer<typeof pauseSchema>>;

export const endOf = ({ until = Number.POSITIVE_INFINITY }: Pause): number => until;

/** The one record of its list; absent, or without a pause: all access goes on. */
export const accessSchema = z.object({ pause: pauseSchema.optional() });

export type AccessRecord = z.infer<typeof accessSchema>;

/** A pause takes away, and so does a longer one. Its end gives. */
export const accessRules: RecordRules<AccessRecord> = {
  isLess: ({ pause }, before) =>
    pause !== undefined && endOf(pause) >= (before?.pause ? endOf(before.pause) : 0),
};
