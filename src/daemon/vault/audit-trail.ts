/**
 * The home's audit log and the secrets that seal it.
 *
 * Invariant: nothing here is the first to open the vault: the log is sealed once something else has
 * opened it. The memory vault seals nothing, since its master secret is new at each start.
 */
import path from 'node:path';
import { activityOf } from '../../audit/audit-activity.ts';
import { auditKeys } from '../../audit/audit-chain.ts';
import { exportAudit, tailAudit } from '../../audit/audit-export.ts';
import type { StoredRow } from '../../audit/audit-row.ts';
import { AuditFile } from '../../audit/audit.ts';
import { verifyAudit } from '../../audit/audit-verify.ts';
import type { KeyObject } from 'node:crypto';
import { KeyturnError } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import type { HomePaths } from '../../base/paths.ts';
import { getIfAny } from '../../vault/base/vault.ts';
import type { Vault } from '../../vault/base/vault.ts';
import type { WriteLog } from '../system/log.ts';

/** The vault's item. */
export const anchorItem = 'audit-anchor';

/** The whole log of a home, piece by piece. Needs no key. Resolves with the number of rows. */
export async function exportTrail(
  paths: HomePaths,
  write: (text: string) => Promise<void>,
  format: 'jsonl' | 'csv',
): Promise<number> {
  return exportAudit(paths.state, write, { format });
}

export interface AuditTrailParts {
  /** The home's state folder. */
  readonly folder: string;
  readonly vault: Vault;
  readonly master: () => Promise<KeyObject>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: WriteLog;
}

export class AuditTrail {
  readonly file: AuditFile;
  readonly #parts: AuditTrailParts;

  constructor(parts: AuditTrailParts) {
    const { folder, vault, master, now } = parts;
    this.#parts = parts;
    const anchor = {
      read: () => getIfAny(vault, anchorItem),
      write: (head: string) => vault.set(anchorItem, head),
    };
    const sealing = { keys: async () => auditKeys(await master()), anchor };
    this.file = new AuditFile(
      path.join(folder, 'audit.jsonl'),
      now,
      vault.kind === 'memory' ? {} : { sealing },
    );
  }

  /** In the background, once the vault is open; a failure is logged, and the next opening tries again. */
  seal(): void {
    const { vault, log } = this.#parts;
    if (vault.kind === 'memory') return;
    this.file.seal().catch((error: unknown) => {
      log(
        `the audit log could not be sealed: ${error instanceof KeyturnError ? error.message : 'internal error'}`,
        'error',
      );
    });
  }

  /** How the log stands, for `status`. */
  get state(): ResultOf<'status'>['audit'] {
    if (this.#parts.vault.kind === 'memory') return { state: 'plain' };
    const { isSealed, trouble } = this.file.state;
    if (trouble !== undefined) return { state: 'failing', reason: trouble };
    return { state: isSealed ? 'sealed' : 'waiting' };
  }

  async tail(count: number): Promise<ResultOf<'audit.tail'>> {
    await this.file.flush();
    return { rows: [...(await tailAudit(this.#parts.folder, count))] };
  }

  /** What happened in the last hours. */
  async activity(hours: number): Promise<ResultOf<'audit.activity'>> {
    await this.file.flush();
    return activityOf(this.#parts.folder, this.#parts.now(), hours);
  }

  /** The last rows that are about one grant, oldest first. */
  async about(grantId: string, count: number): Promise<readonly StoredRow[]> {
    await this.file.flush();
    const rows = await tailAudit(this.#parts.folder, count, grantId);
    return rows.filter(({ grant }) => grant === grantId);
  }

  /** Throws `vault_unavailable` for the memory vault, and what the vault throws. */
  async verify(): Promise<ResultOf<'audit.verify'>> {
    const { folder, vault, master } = this.#parts;
    if (vault.kind === 'memory') {
      throw new KeyturnError('vault_unavailable', 'With the memory vault the audit log is not sealed.', {
        hint: 'Its key is new at each start, so earlier rows could never be verified. Use the keychain.',
      });
    }
    await this.file.seal();
    await this.file.flush();
    const { chain } = auditKeys(await master());
    return verifyAudit(folder, chain, { read: () => getIfAny(vault, anchorItem) });
  }
}
