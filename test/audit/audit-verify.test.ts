/** The audit log under attack: the traces of an attacker who can write its files, but not read the vault. */
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Anchoring } from '../../src/audit/audit-anchor.ts';
import { AuditLog, usualLimits } from '../../src/audit/audit-log.ts';
import { auditRig, recordRows } from './audit-rig.ts';
import type { AuditRig } from './audit-rig.ts';
import { refusal, turnOfEvents } from '../broker/rig.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';

/** Sealed and stopped: 1 started, 2 sealed, 3–8 rows. */
async function sealedLog(): Promise<AuditRig> {
  const rig = auditRig();
  const audit = rig.run();
  await audit.seal();
  await recordRows(audit, 6);
  await audit.flush();
  return rig;
}

describe('a log that nobody touched', () => {
  it('an untouched audit log verifies, with rows from before and after the vault opened and from several runs', async () => {
    const rig = auditRig();
    for (let run = 0; run < 3; run += 1) {
      const audit = rig.run();
      await recordRows(audit, 2);
      await audit.seal();
      await recordRows(audit, 2);
      await audit.flush();
    }
    expect(await rig.verify()).toEqual({ ok: true, rows: 16, oldRows: 0, tornLines: 0, unprovenRows: 0 });
  });

  it('an empty audit log verifies', async () => {
    expect(await auditRig().verify()).toMatchObject({ ok: true, rows: 0 });
  });

  it('rows without a key count as unproven until the vault opens', async () => {
    const rig = auditRig();
    const audit = rig.run();
    await recordRows(audit, 3);
    expect(await rig.verify()).toMatchObject({ ok: true, rows: 4, unprovenRows: 4 });
    await audit.seal();
    expect(await rig.verify()).toMatchObject({ ok: true, rows: 5, unprovenRows: 0 });
  });

  it('the audit log doesn’t use the vault before it is sealed, and has no fingerprint until then', async () => {
    const rig = auditRig();
    const audit = rig.run();
    await recordRows(audit, 1);
    await audit.flush();
    expect(await getIfAny(rig.vault, 'audit-anchor')).toBeUndefined();
    expect(audit.fingerprint('token-1')).toBeUndefined();
    await audit.seal();
    expect(audit.fingerprint('token-1')).toMatch(/^[0-9a-f]{16}$/);
    expect(audit.fingerprint('token-1')).toBe(audit.fingerprint('token-1'));
    expect(audit.fingerprint('token-1')).not.toBe(audit.fingerprint('token-2'));
  });

  it('if the vault can’t be opened, the audit log stays plain, and is sealed once the vault opens', async () => {
    const rig = auditRig();
    let isLocked = true;
    const audit = rig.run({ whileLocked: () => isLocked });
    await recordRows(audit, 1);
    expect(await refusal(audit.seal())).toMatchObject({ reason: 'locked' });
    await recordRows(audit, 1);
    expect(audit.state.isSealed).toBe(false);
    isLocked = false;
    await audit.seal();
    expect(audit.state.isSealed).toBe(true);
    expect(await rig.verify()).toMatchObject({ ok: true, rows: 4, unprovenRows: 0 });
  });

  it('the audit log verifies while the broker writes and starts new files', async () => {
    const rig = auditRig();
    const audit = rig.run({ limits: { fileSize: 2000, files: 4 } });
    const writing = Array.from({ length: 20 }, () => recordRows(audit, 5));
    writing.push(audit.seal());
    for (let n = 0; n < 10; n += 1) expect(await rig.verify()).toMatchObject({ ok: true });
    await Promise.all(writing);
    await audit.flush();
    expect(await rig.verify()).toMatchObject({ ok: true, unprovenRows: 0 });
  });

  it('an audit log of version 0.1 keeps its old rows and seals them', async () => {
    const rig = auditRig();
    rig.put(['{"time":1,"event":"pair","outcome":"yes"}', '{"time":2,"event":"lost","rows":3}']);
    expect(await rig.verify()).toMatchObject({ ok: true, rows: 0, oldRows: 2 });
    const audit = rig.run();
    await recordRows(audit, 1);
    await audit.seal();
    expect(await rig.verify()).toMatchObject({ ok: true, rows: 3, oldRows: 2 });
    rig.put(rig.lines().map((line) => line.replace('"yes"', '"no"')));
    expect(await rig.verify()).toMatchObject({ ok: false, oldRows: 2, firstProblem: { sequence: 1 } });
    rig.put(rig.lines().slice(1));
    expect(await rig.verify()).toMatchObject({ ok: false, firstProblem: { sequence: 1 } });
    rig.put(rig.lines().slice(1));
    expect(await rig.verify()).toMatchObject({ ok: false, firstProblem: { sequence: 0 } });
  });
});

describe('tampering is shown at its row', () => {
  const attacks: Record<string, { at: number; on: (lines: string[]) => string[] }> = {
    'an edit': { at: 5, on: (lines) => lines.with(4, String(lines[4]).replace('row 3', 'row 9')) },
    'an edit that only adds a blank': {
      at: 5,
      on: (lines) => lines.with(4, String(lines[4]).replace('"event":', '"event": ')),
    },
    'a row left out': { at: 5, on: (lines) => lines.toSpliced(4, 1) },
    'two rows exchanged': {
      at: 5,
      on: (lines) => lines.toSpliced(4, 2, String(lines[5]), String(lines[4])),
    },
    'a row written twice': { at: 5, on: (lines) => lines.toSpliced(5, 0, String(lines[4])) },
    'a line put between': {
      at: 6,
      on: (lines) => lines.toSpliced(5, 0, '{"time":1,"event":"pair","outcome":"yes"}'),
    },
    'the beginning cut off': { at: 4, on: (lines) => lines.slice(3) },
    'the end cut off': { at: 8, on: (lines) => lines.slice(0, -1) },
    'everything cut off': { at: 1, on: () => [] },
    'a line put at the end': { at: 8, on: (lines) => [...lines, '{"time":1,"event":"pair"}'] },
    'an end linked anew without the key': { at: 8, on: (lines) => relinked(lines, 7, 'row 9') },
    'a row between linked anew without the key': { at: 6, on: (lines) => relinked(lines, 4, 'row 9') },
  };
  it.each(Object.entries(attacks))(
    'the verification of the audit log names the row of this change: %s',
    async (_name, { at, on }) => {
      const rig = await sealedLog();
      expect(rig.lines()).toHaveLength(8);
      expect(await rig.verify()).toMatchObject({ ok: true, rows: 8, unprovenRows: 0 });
      rig.put(on(rig.lines()));
      expect(await rig.verify()).toMatchObject({ ok: false, firstProblem: { sequence: at } });
    },
  );
});

/** What an attacker without the key can do at best: another outcome, and a plain hash that fits. */
function relinked(lines: readonly string[], index: number, outcome: string): string[] {
  const previous = index === 0 ? '' : (/"([\w-]{43})"\}$/.exec(String(lines[index - 1]))?.[1] ?? '');
  const open = String(lines[index])
    .replace(/,"(mac|hash)":"[\w-]{43}"\}$/, '')
    .replace(/"outcome":"[^"]*"/, `"outcome":"${outcome}"`);
  const hash = createHash('sha256').update(`${previous}\n${open}`).digest('base64url');
  return lines.with(index, `${open},"hash":"${hash}"}`);
}

describe('the anchor', () => {
  it('audit.jsonl: the anchor shows an older copy put in the log’s place', async () => {
    const rig = await sealedLog();
    const older = rig.lines();
    const audit = rig.run();
    await audit.seal();
    await recordRows(audit, 2);
    await audit.flush();
    rig.put(older);
    const verdict = await rig.verify();
    expect(verdict).toMatchObject({ ok: false, firstProblem: { sequence: 9 } });
    expect(verdict.firstProblem?.what).toContain('older copy');
  });

  it('the anchor is not replaced before the log has a row about the cut', async () => {
    const rig = await sealedLog();
    rig.put(rig.lines().slice(0, 5));
    const audit = rig.run();
    await recordRows(audit, 4);
    await audit.seal();
    await recordRows(audit, 4);
    await audit.flush();
    const verdict = await rig.verify();
    expect(verdict.ok).toBe(false);
    expect(verdict.firstProblem?.what).toContain('cut or replaced');
    expect(rig.rows()).toContainEqual(expect.objectContaining({ outcome: 'anchor-broken' }));
  });

  it('audit.jsonl: the anchor shows that the whole log was removed, also after the next run', async () => {
    const rig = await sealedLog();
    rmSync(rig.file);
    expect(await rig.verify()).toMatchObject({ ok: false, rows: 0, firstProblem: { sequence: 1 } });
    const audit = rig.run();
    await audit.seal();
    await audit.flush();
    expect(await rig.verify()).toMatchObject({ ok: false });
  });

  it('an anchor that is gone or unreadable is a problem, and stays one', async () => {
    const rig = await sealedLog();
    await rig.vault.delete('audit-anchor');
    expect(await rig.verify()).toMatchObject({ ok: false, firstProblem: { sequence: 0 } });
    const audit = rig.run();
    await audit.seal();
    await audit.flush();
    expect(await rig.verify()).toMatchObject({ ok: false });
    await rig.vault.set('audit-anchor', 'nonsense');
    expect(await rig.verify()).toMatchObject({ ok: false });
  });

  it('the anchor is written at once after a row about authority, and once a minute after others', async () => {
    const rig = auditRig();
    const written: string[] = [];
    const log = new AuditLog(rig.file, { now: () => rig.clock.time, limits: usualLimits, awaitsKey: true });
    const anchoring = new Anchoring({
      file: rig.file,
      log,
      now: () => rig.clock.time,
      report: () => Promise.reject(new Error('there is nothing to report')),
      anchor: {
        read: () => Promise.resolve(undefined),
        write: (head) => Promise.resolve(void written.push(head)),
      },
    });
    const moved = async (isUrgent: boolean): Promise<number> => {
      await log.append([{ time: rig.clock.time, row: { event: 'refresh', outcome: 'ok' } }]);
      anchoring.moved(isUrgent);
      await turnOfEvents();
      return written.length;
    };
    await log.open();
    await anchoring.settle();
    const first = written.length;
    expect(await moved(false)).toBe(first);
    expect(await moved(true)).toBe(first + 1);
    rig.clock.time += 30_000;
    expect(await moved(false)).toBe(first + 1);
    rig.clock.time += 30_000;
    expect(await moved(false)).toBe(first + 2);
    expect(written.at(-1)).toMatch(/^keyturn-audit\/1 5 [\w-]{43}$/);
    await anchoring.settle();
  });

  it('a row is on the disk even if the vault never answers, so the anchor delays no request', async () => {
    const rig = await sealedLog();
    const audit = rig.run();
    await audit.seal();
    await audit.flush();
    rig.vault.set = () => new Promise(() => undefined);
    await recordRows(audit, 1);
    expect(rig.rows().at(-1)).toMatchObject({ event: 'permission', outcome: 'row 1' });
  });

  it('a vault that refuses the log’s first anchor leaves the log unsealed, and the next run finds no cut in it', async () => {
    const rig = auditRig();
    const write = rig.vault.set.bind(rig.vault);
    rig.vault.set = () => Promise.reject(new Error('locked'));
    const audit = rig.run();
    await expect(audit.seal()).rejects.toThrow('locked');
    await recordRows(audit, 1);
    expect(audit.state).toMatchObject({ isSealed: false, trouble: 'internal' });
    rig.vault.set = write;

    const next = rig.run();
    await next.seal();
    await next.flush();
    expect(rig.rows().filter(({ outcome }) => outcome === 'anchor-broken')).toEqual([]);
    expect(await rig.verify()).toMatchObject({ ok: true });
  });

  it('if the vault refuses to keep the anchor, nothing waits, and the anchor is written later', async () => {
    const rig = await sealedLog();
    const audit = rig.run();
    await audit.seal();
    await audit.flush();
    const write = rig.vault.set.bind(rig.vault);
    rig.vault.set = () => Promise.reject(new Error('locked'));
    await recordRows(audit, 1);
    await audit.flush();
    expect(audit.state).toMatchObject({ sequence: 10, anchored: 9, trouble: 'internal' });
    rig.vault.set = write;
    await audit.flush();
    expect(audit.state).toMatchObject({ anchored: 10, trouble: undefined });
  });
});

describe('what the writer finds at its start', () => {
  it('a line that a crash tore stays in the audit log, and a row says so', async () => {
    const rig = await sealedLog();
    appendFileSync(rig.file, '{"sequence":9,"time":18');
    expect(await rig.verify()).toMatchObject({ ok: true, tornLines: 1 });
    const audit = rig.run();
    await recordRows(audit, 1);
    await audit.seal();
    await audit.flush();
    expect(rig.lines()[8]).toBe('{"sequence":9,"time":18');
    expect(await rig.verify()).toMatchObject({ ok: true, rows: 11, tornLines: 1, unprovenRows: 0 });
    rig.put(rig.lines().with(8, '{"sequence":9,"time":19'));
    expect(await rig.verify()).toMatchObject({ ok: false, firstProblem: { sequence: 9 } });
    rig.put(rig.lines().toSpliced(8, 1));
    expect(await rig.verify()).toMatchObject({ ok: false, firstProblem: { sequence: 9 } });
  });

  it('a last row without its line feed counts as a row of the audit log', async () => {
    const rig = await sealedLog();
    writeFileSync(rig.file, readFileSync(rig.file, 'utf8').trimEnd());
    const audit = rig.run();
    await audit.seal();
    await audit.flush();
    expect(await rig.verify()).toMatchObject({ ok: true, rows: 9, tornLines: 0 });
  });

  it('audit.jsonl: rows of another writer in the audit log are a problem', async () => {
    const rig = await sealedLog();
    appendFileSync(rig.file, '{"time":1,"event":"pair"}\n{"time":2,"event":"pair"}\n');
    const audit = rig.run();
    await audit.seal();
    await audit.flush();
    expect(await rig.verify()).toMatchObject({ ok: false, firstProblem: { sequence: 9 } });
  });

  it('plain rows added while no broker ran are counted as unproven', async () => {
    const rig = await sealedLog();
    const forger = rig.run();
    await recordRows(forger, 2);
    const audit = rig.run();
    await recordRows(audit, 1);
    await audit.seal();
    await audit.flush();
    expect(await rig.verify()).toMatchObject({ ok: true, rows: 12, unprovenRows: 2 });
  });

  it('an edit of this run’s own rows, made before the vault opened, shows once the vault opens', async () => {
    const rig = auditRig();
    const audit = rig.run();
    await recordRows(audit, 2);
    rig.put(relinked(rig.lines(), 2, 'row 9'));
    await audit.seal();
    await audit.flush();
    expect(await rig.verify()).toMatchObject({ ok: false, firstProblem: { sequence: 4 } });
  });
});
