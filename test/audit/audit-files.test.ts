/** The files of the audit log: rotated by size, bounded in number, read back whole. */
import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { activityOf } from '../../src/audit/audit-activity.ts';
import { exportAudit, tailAudit } from '../../src/audit/audit-export.ts';
import { auditRig, recordRows } from './audit-rig.ts';
import type { AuditRig } from './audit-rig.ts';
import { refusal } from '../broker/rig.ts';

/** About three rows a file, three files. */
const small = { fileSize: 500, files: 3 };

async function turnedLog(rows: number, rig = auditRig()): Promise<AuditRig> {
  const audit = rig.run({ limits: small });
  await audit.seal();
  await recordRows(audit, rows);
  await audit.flush();
  return rig;
}

describe('turning over', () => {
  it('the audit log keeps a bounded number of files, each with mode 0600, and verifies across them', async () => {
    const rig = await turnedLog(30);
    expect(rig.files()).toHaveLength(3);
    for (const name of rig.files()) expect(statSync(rig.path(name)).mode & 0o777).toBe(0o600);
    expect(await rig.verify()).toMatchObject({ ok: true, unprovenRows: 0 });
    expect(rig.rows()).toContainEqual(
      expect.objectContaining({ outcome: 'removed', file: expect.stringMatching(/^audit-\d{6}\.jsonl$/) }),
    );
  });

  it('the audit log verifies across several runs of the broker', async () => {
    const rig = await turnedLog(7);
    for (let run = 0; run < 5; run += 1) await turnedLog(5, rig);
    expect(rig.files()).toHaveLength(3);
    expect(await rig.verify()).toMatchObject({ ok: true });
  });

  it('the audit log goes on after a crash between a full file and the new one', async () => {
    const rig = auditRig();
    const audit = rig.run();
    await audit.seal();
    await recordRows(audit, 3);
    await audit.flush();
    renameSync(rig.file, rig.path('audit-000001.jsonl'));
    await turnedLog(2, rig);
    expect(rig.rows()[5]).toMatchObject({ outcome: 'continued', sequence: 6 });
    expect(await rig.verify()).toMatchObject({ ok: true });
  });

  it.each([
    ['oldest', 0],
    ['middle', 1],
    ['newest', 2],
  ])('the verification shows that the %s file of the audit log was removed', async (_which, index) => {
    const rig = await turnedLog(30);
    rmSync(rig.path(String(rig.files()[index])));
    expect(await rig.verify()).toMatchObject({ ok: false });
  });

  it('removes no file of the audit log before the vault opens, because no keyed row could prove the removal', async () => {
    const rig = auditRig();
    const audit = rig.run({ limits: small });
    await recordRows(audit, 20);
    const before = rig.files().length;
    expect(before).toBeGreaterThan(3);
    await audit.seal();
    await recordRows(audit, 5);
    await audit.flush();
    expect(rig.files()).toHaveLength(3);
    expect(await rig.verify()).toMatchObject({ ok: true });
  });

  it('removes the file with the rows of version 0.1 in its turn, and the audit log still verifies', async () => {
    const rig = auditRig();
    rig.put(Array.from({ length: 20 }, (_, n) => `{"time":${n},"event":"pair","outcome":"yes"}`));
    await turnedLog(2, rig);
    expect(await rig.verify()).toMatchObject({ ok: true, oldRows: 20 });
    await turnedLog(30, rig);
    expect(await rig.verify()).toMatchObject({ ok: true, oldRows: 0 });
  });
});

describe('reading back', () => {
  it('returns the last rows of the audit log, oldest first, across files, without their links', async () => {
    const rig = await turnedLog(30);
    const rows = await tailAudit(rig.folder, 9);
    expect(rows).toHaveLength(9);
    expect(rows.map(({ sequence }) => sequence)).toEqual(
      rig
        .rows()
        .slice(-9)
        .map(({ sequence }) => sequence),
    );
    expect(JSON.stringify(rows)).not.toContain('"mac"');
    expect(await tailAudit(rig.folder, 0)).toEqual([]);
    expect(await tailAudit(auditRig().folder, 5)).toEqual([]);
  });

  it('exports the audit rows of a period as the log’s own lines', async () => {
    const rig = auditRig();
    const audit = rig.run();
    for (const outcome of ['early', 'in time', 'late']) {
      await audit.record({ event: 'permission', outcome });
      rig.clock.time += 1000;
    }
    const pieces: string[] = [];
    const since = rig.clock.time - 2000;
    const choice = { since, until: since + 1000, format: 'jsonl' } as const;
    const count = await exportAudit(rig.folder, (text) => void pieces.push(text), choice);
    expect(count).toBe(1);
    expect(pieces.join('')).toBe(`${rig.lines()[2]}\n`);
    expect(pieces.join('')).toContain('in time');
  });

  it('refuses an audit log that can’t be read, and doesn’t call it empty', async () => {
    const rig = auditRig();
    mkdirSync(rig.file);
    expect(await refusal(tailAudit(rig.folder, 5))).toMatchObject({ reason: 'file_unreadable' });
    expect(await refusal(rig.verify())).toMatchObject({ reason: 'file_unreadable' });
    const record = rig.run().record({ event: 'pair', outcome: 'yes' });
    expect(await refusal(record)).toMatchObject({ reason: 'file_unreadable' });
  });

  it('exports audit rows as CSV whose cells no spreadsheet runs as formulas', async () => {
    const rig = auditRig();
    await rig.run().record({ event: 'pair', outcome: 'say "yes"', client: '=cmd()', scope: ['a', 'b'] });
    let text = '';
    await exportAudit(rig.folder, async (piece) => void (text += piece), { format: 'csv' });
    const lines = text.split('\r\n');
    expect(lines[0]).toMatch(/^"sequence","time","event"/);
    expect(lines[2]).toContain('"2","2027-01-15T08:00:00.000Z","pair","say ""yes""","\'=cmd()"');
    expect(lines[2]).toContain('"a b"');
    expect(lines).toHaveLength(4);
  });

  it.each(Array.from('=+-@＝＋－＠﹦﹢﹣﹫−').flatMap((sign) => [sign, ` ${sign}`, `\u3000${sign}"\n`]))(
    'exports no audit row as CSV with a cell that begins as a formula: %j',
    async (sign) => {
      const rig = auditRig();
      await rig.run().record({ event: 'pair', outcome: 'yes', client: `${sign}cmd()` });
      let text = '';
      await exportAudit(rig.folder, async (piece) => void (text += piece), { format: 'csv' });
      expect(text).toContain(`"'${sign.slice(0, 1)}`);
    },
  );
});

describe('counting by the hour', () => {
  it('the audit log counts the hours over all of its files, repeats included, and tells what failed', async () => {
    const rig = auditRig();
    const hour = 3_600_000;
    const start = Math.floor(rig.clock.time / hour) * hour;
    const audit = rig.run({ limits: { fileSize: 2000, files: 50 } });
    const note = (at: number, event: 'token' | 'refused' | 'refresh' | 'key', outcome: string) => {
      rig.clock.time = start + at;
      audit.note({ event, outcome, client: 'editor' });
    };
    // The hour before the first that is asked for.
    note(-1, 'token', 'ok');
    await audit.flush();
    for (let minute = 0; minute < 40; minute += 1) {
      // The repeats of a minute share a row, which counts them.
      for (let second = 0; second < 5; second += 1) note(minute * 60_000 + second, 'token', 'ok');
      await audit.flush();
    }
    note(hour, 'refused', 'consent_required');
    note(hour + 1, 'key', 'given');
    note(hour + 2, 'key', 'set');
    note(hour + 3, 'refresh', 'ok');
    note(hour + 4, 'refresh', 'login_required');
    await audit.flush();
    expect(rig.files().length).toBeGreaterThan(3);
    const { hours } = await activityOf(rig.folder, start + hour + 5, 2);
    expect(hours).toEqual([
      { at: start, handedOut: 200, refused: 0, refreshed: 0, failed: 0 },
      { at: start + hour, handedOut: 1, refused: 1, refreshed: 1, failed: 1 },
    ]);
    expect(await activityOf(auditRig().folder, start, 1)).toEqual({
      hours: [{ at: start, handedOut: 0, refused: 0, refreshed: 0, failed: 0 }],
      uses: [],
    });
  });

  it('the audit log tells which program got how much for which server, when last, and the most used first', async () => {
    const rig = auditRig();
    const hour = 3_600_000;
    const start = Math.floor(rig.clock.time / hour) * hour;
    const audit = rig.run();
    const note = (at: number, event: 'token' | 'refused' | 'key', client: string, endpoint: string) => {
      rig.clock.time = start + at;
      audit.note({ event, outcome: event === 'key' ? 'given' : 'ok', client, endpoint });
    };
    note(1, 'token', 'editor', 'https://notes.example/mcp');
    note(2, 'token', 'editor', 'https://files.example/mcp');
    note(hour, 'token', 'editor', 'https://files.example/mcp');
    note(hour + 1, 'key', 'agent', 'https://notes.example/mcp');
    note(hour + 2, 'refused', 'agent', 'https://files.example/mcp');
    // A use without an endpoint is nobody's use of a server.
    audit.note({ event: 'token', outcome: 'ok', client: 'editor' });
    await audit.flush();
    const { uses } = await activityOf(rig.folder, start + hour + 5, 2);
    expect(uses[0]).toEqual({
      client: 'editor',
      endpoint: 'https://files.example/mcp',
      last: start + hour,
      handedOut: [1, 1],
    });
    expect(uses.slice(1).map(({ client, handedOut }) => [client, ...handedOut])).toEqual([
      ['editor', 1, 0],
      ['agent', 0, 1],
    ]);
  });
});
