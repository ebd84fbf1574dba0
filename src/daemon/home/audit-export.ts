/** The audit log of a home, for the command and the app. It needs no key and no broker. */
import { exportAudit } from '../../audit/audit-export.ts';
import type { ExportCounts, ExportFormat } from '../../audit/audit-export.ts';
import type { HomePaths } from '../../base/paths.ts';

/** The whole log, piece by piece. Throws what `write` throws, and `file_unreadable`. */
export async function exportTrail(
  { state }: Pick<HomePaths, 'state'>,
  write: (text: string) => Promise<void>,
  format: ExportFormat,
): Promise<ExportCounts> {
  return exportAudit(state, write, format);
}
