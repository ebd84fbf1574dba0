/** An audit log over a temporary folder, with a vault that holds its anchor; several runs one after the other. */
import { createSecretKey } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { auditKeys } from '../../src/audit/audit-chain.ts';
import { verifyAudit } from '../../src/audit/audit-verify.ts';
import type { AuditVerdict } from '../../src/audit/audit-verify.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { AuditFile } from '../../src/audit/audit.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';
import { memoryVault } from '../../src/vault/memory.ts';
import type { Vault } from '../../src/vault/base/vault.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const keys = auditKeys(createSecretKey(Buffer.alloc(32, 7)));

export interface RunOptions {
  readonly limits?: { readonly fileSize: number; readonly files: number };
  /** True while the vault is locked: then it gives no key. */
  readonly whileLocked?: () => boolean;
}

export interface AuditRig {
  readonly folder: string;
  readonly file: string;
  readonly vault: Vault;
  readonly clock: { time: number };
  /** A broker's run over the same files. Small files are rotated soon. */
  readonly run: (options?: RunOptions) => AuditFile;
  readonly verify: () => Promise<AuditVerdict>;
  /** The growing file's lines. */
  readonly lines: () => string[];
  /** Puts these lines in place of the growing file's. */
  readonly put: (lines: readonly string[]) => void;
  /** Names of the log's files, in order. */
  readonly files: () => string[];
  readonly path: (name: string) => string;
  /** All rows, in order. */
  readonly rows: () => Record<string, unknown>[];
}

export function auditRig(): AuditRig {
  const folder = temporaryFolder();
  const vault = memoryVault();
  const clock = { time: 1_800_000_000_000 };
  const file = path.join(folder, 'audit.jsonl');
  const text = (name: string): string => readFileSync(path.join(folder, name), 'utf8');
  // "audit-…" sorts before "audit.jsonl": full files first, the growing one last.
  const files = (): string[] => readdirSync(folder).sort();
  const anchor = {
    read: () => getIfAny(vault, 'audit-anchor'),
    write: (head: string) => vault.set('audit-anchor', head),
  };
  return {
    folder,
    file,
    vault,
    clock,
    files,
    run: ({ limits, whileLocked = () => false } = {}) =>
      new AuditFile(file, () => clock.time, {
        sealing: {
          keys: () => (whileLocked() ? Promise.reject(lockedVault()) : Promise.resolve(keys)),
          anchor,
        },
        ...(limits ? { limits } : {}),
      }),
    verify: () => verifyAudit(folder, keys.chain, anchor),
    lines: () => linesIn(text('audit.jsonl')),
    put: (lines) => writeFileSync(file, lines.map((line) => `${line}\n`).join('')),
    path: (name) => path.join(folder, name),
    rows: () => files().flatMap((name) => linesIn(text(name)).map((line) => JSON.parse(line))),
  };
}

function lockedVault(): KeyturnError {
  return new KeyturnError('locked', 'the vault is locked');
}

function linesIn(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

/** Rows about authority, one after the other. */
export async function recordRows(audit: AuditFile, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) await audit.record({ event: 'permission', outcome: `row ${n}` });
}
