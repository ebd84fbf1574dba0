/**
 * Another program of the same user makes the broker itself remove what the audit log says of earlier times, and
 * then takes away what it put there.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { auditRig, recordRows } from '../audit/audit-rig.ts';
import type { AuditRig } from '../audit/audit-rig.ts';

const limits = { fileSize: 4000, files: 4 };

async function aRun(rig: AuditRig): Promise<void> {
  const audit = rig.run({ limits });
  await audit.seal();
  await recordRows(audit, 5);
  await audit.flush();
}

/** Two runs; between them, and now, the attacker calls the growing file a full one. */
async function twoFullFiles(): Promise<AuditRig> {
  const rig = auditRig();
  for (const name of ['audit-000001.jsonl', 'audit-000002.jsonl']) {
    await aRun(rig);
    renameSync(rig.file, rig.path(name));
  }
  return rig;
}

const planted = ['audit-000003.jsonl', 'audit-000004.jsonl'];

describe('the audit log', () => {
  it.each([
    ['empty files', () => ['', '']],
    ['copies of its rows', (rows: string) => [rows.repeat(9), rows.repeat(9)]],
    ['lines of theirs', () => ['x\n'.repeat(4000), 'x'.repeat(8000)]],
  ])('loses no row by %s that are put beside it', async (_what, contents) => {
    const rig = await twoFullFiles();
    const history = readFileSync(rig.path('audit-000001.jsonl'), 'utf8');
    const texts = contents(readFileSync(rig.path('audit-000002.jsonl'), 'utf8'));
    for (const [n, name] of planted.entries()) writeFileSync(rig.path(name), texts[n] ?? '', { mode: 0o600 });
    await aRun(rig);
    for (const name of planted) rmSync(rig.path(name));
    expect(readFileSync(rig.path('audit-000001.jsonl'), 'utf8')).toBe(history);
  });

  it('audit.jsonl: loses no row where its files are cut up into many', async () => {
    const rig = await twoFullFiles();
    const lines = readFileSync(rig.path('audit-000002.jsonl'), 'utf8').split(/(?<=\n)/);
    for (const [n, line] of lines.entries())
      writeFileSync(rig.path(`audit-00000${n + 2}.jsonl`), line, { mode: 0o600 });
    await aRun(rig);
    expect(rig.files()).toContain('audit-000001.jsonl');
    expect(await rig.verify()).toMatchObject({ ok: true });
  });
});
