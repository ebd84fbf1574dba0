/**
 * What the document says of its home: who approves, and which settings the user confirmed. A list with one record,
 * beside those of the broker.
 */
import { z } from 'zod';
import { recordsOf } from '../../broker/records/records.ts';
import type { Records } from '../../broker/records/records.ts';
import { listOf, openDocument } from '../../store/authority.ts';
import type { AuthorityParts, DocumentList } from '../../store/authority.ts';
import { confirmedSchema } from '../settings/confirmed-settings.ts';

export const homeRecordSchema = z.strictObject({
  /** `command`: no app ever used this home. `app`: one did. `released`: the user gave the home free in its window. */
  approvals: z.enum(['command', 'app', 'released']),
  /** The settings that the user confirmed in the app; absent: nobody was asked yet. */
  settings: confirmedSchema.optional(),
  /** What the user denied there: it is shown, and not asked again. */
  declined: confirmedSchema.optional(),
  /** What a headless broker last went by, outside an app's home. */
  seen: confirmedSchema.optional(),
});

export type HomeRecord = z.infer<typeof homeRecordSchema>;

/** All lists of a home's document. Reads nothing yet. */
export function homeRecords(parts: AuthorityParts): Records & { readonly home: DocumentList<HomeRecord> } {
  const document = openDocument(parts);
  return { ...recordsOf(document), home: listOf(document, 'home', homeRecordSchema) };
}
