/**
 * What the document says of its home: who may approve, and which settings the user approved. A list with one record,
 * beside those of the broker.
 */
import { z } from 'zod';
import { recordsOf, type Records } from '../../broker/records/records.ts';
import { listOf, openDocument, type DocumentOptions, type DocumentList } from '../../store/home-document.ts';
import { approvedSchema } from '../settings/approved-settings.ts';

export const homeRecordSchema = z.strictObject({
  /** `command`: the Keyturn app was never used here. `app`: only its window. `either`: its user allowed the command too. */
  approver: z.enum(['command', 'app', 'either']),
  /** The settings that the user approved in the app; absent: nobody was asked yet. */
  approved: approvedSchema.optional(),
  /** What the user denied there: it is shown, and not asked again. */
  denied: approvedSchema.optional(),
  /** What a headless broker last used, where the Keyturn app doesn't decide. */
  lastUsed: approvedSchema.optional(),
});

export type HomeRecord = z.infer<typeof homeRecordSchema>;

/** All lists of a home's document. Reads nothing yet. */
export function homeRecords(parts: DocumentOptions): Records & { readonly home: DocumentList<HomeRecord> } {
  const document = openDocument(parts);
  return { ...recordsOf(document), home: listOf(document, 'home', homeRecordSchema) };
}
