/**
 * Who asks, as a schema of the wire: what program.ts, claim.ts and enclosure.ts read of a process.
 *
 * Invariant: every string has a maximum length. It is for display: a name, an argument or a folder is the process's own choice.
 */
import * as z from 'zod';
import { maxLength } from '../../wire/limits.ts';

/** Path of an executable. */
export const executable = z.string().max(4096);

/** Who can change a file, or put another in its place, besides the administrator. */
const changer = z.literal(['you', 'group', 'others']);

/** Longer than any argument that is shown (claim.ts) and than any name of a unit (enclosure.ts). */
const claimedText = z.string().max(256);

/** What an interpreter says it runs. */
const claim = z.object({
  script: claimedText.optional(),
  arguments: z.array(claimedText).max(maxLength.id),
  isCut: z.boolean(),
  folder: claimedText.optional(),
});

/** Who asks, as the kernel tells it. `verified` false: this system doesn't tell. For display. */
export const appProcess = z.object({
  verified: z.boolean(),
  pid: z.int().positive().optional(),
  executable: executable.optional(),
  /** What is known of the file at that path; absent: nothing. */
  file: z.literal(['attested', 'interpreter', 'elsewhere', 'unreadable']).optional(),
  changeableBy: changer.optional(),
  claim: claim.optional(),
  enclosures: z
    .array(z.object({ kind: z.literal(['flatpak', 'snap', 'container', 'unit']), name: claimedText }))
    .optional(),
  /** Names of the processes above it, the nearest first. */
  parents: z.array(z.string().max(maxLength.id)).optional(),
});
