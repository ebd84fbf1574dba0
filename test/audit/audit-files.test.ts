/** The files of the audit log: rotated by size, bounded in number, read back whatever became of them. */
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { exportAudit, tailAudit } from '../../src/audit/audit-export.ts';
import { AuditFile, type AuditRow } from '../../src/audit/audit.ts';
import { refusal } from '../broker/rig.ts';
import { onFullDisk } from '../support/processes/limited.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** About three rows a file, and two full files. */
function rigIn(folder = temporaryFolder(), limits = { fileSize: 250, fullFiles: 2 }) {
  const clock = { time: 1_800_000_000_000 };
  const audit = new AuditFile(folder, () => clock.time, limits);
  return { folder, file: path.join(folder, 'audit.jsonl'), clock, audit, names: () => readdirSync(folder) };
}

async function rigWith(rows: number) {
  const rig = rigIn();
  for (let n = 1; n <= rows; n += 1) await rig.audit.record({ event: 'permission', outcome: `row ${n}` });
  return rig;
}

const outcomes = async (folder: string, count = 1000): Promise<(string | undefined)[]> =>
  (await tailAudit(folder, count)).rows.map(({ outcome }) => outcome);

async function exported(folder: string, format: 'csv' | 'jsonl'): Promise<string> {
  let text = '';
  await exportAudit(folder, (piece) => void (text += piece), format);
  return text;
}

describe('the files of the audit log', () => {
  it('are few, private, and hold the newest rows in order over restarts', async () => {
    const rig = await rigWith(20);
    for (let n = 21; n <= 40; n += 1)
      await rigIn(rig.folder).audit.record({ event: 'pair', outcome: `row ${n}` });
    expect(rig.names().length).toBeLessThanOrEqual(3);
    for (const name of rig.names()) expect(statSync(path.join(rig.folder, name)).mode & 0o777).toBe(0o600);
    const kept = await outcomes(rig.folder);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, n) => `row ${41 - kept.length + n}`));
    expect(kept.length).toBeGreaterThan(5);
    expect(await outcomes(rig.folder, 5)).toEqual(kept.slice(-5));
    expect(await tailAudit(temporaryFolder(), 5)).toEqual({ rows: [], skipped: 0 });
  });

  it('audit.jsonl: may be damaged: the log goes on and counts unreadable lines', async () => {
    const rig = await rigWith(2);
    const forged = '{"time":1,"event":"pair","outcome":"forged"}';
    const strange = ['', 'x', 'null', '[]', '{"time":"1"}', '\u0000\u0000', `"${'x'.repeat(3000)}"`, forged];
    appendFileSync(rig.file, `${strange.join('\n')}\n{"time":18`);
    await rig.audit.record({ event: 'pair', outcome: 'after' });
    expect(await tailAudit(rig.folder, 1000)).toMatchObject({ rows: { length: 4 }, skipped: 7 });
    expect(await outcomes(rig.folder)).toEqual(['row 1', 'row 2', 'forged', 'after']);
    expect(await tailAudit(rig.folder, 1)).toMatchObject({ rows: [{ outcome: 'after' }], skipped: 0 });
    const pieces: string[] = [];
    const count = await exportAudit(rig.folder, (text) => void pieces.push(text), 'jsonl');
    expect([count, pieces.length]).toEqual([{ rows: 4, skipped: 7 }, 4]);
    for (const name of rig.names()) rmSync(path.join(rig.folder, name));
    await rig.audit.record({ event: 'pair', outcome: 'anew' });
    expect(await outcomes(rig.folder)).toEqual(['anew']);
  });

  it('audit.jsonl: of a huge file only the end is read', async () => {
    const rig = await rigWith(1);
    truncateSync(rig.file, 2 ** 40);
    appendFileSync(rig.file, '\n');
    await rig.audit.record({ event: 'permission', outcome: 'after' });
    expect(await outcomes(rig.folder)).toEqual(['after']);
  });

  it('have a last row that lost its line feed, and a row after it', async () => {
    const rig = await rigWith(1);
    writeFileSync(rig.file, readFileSync(rig.file, 'utf8').trimEnd());
    await rig.audit.record({ event: 'pair', outcome: 'after' });
    expect(await outcomes(rig.folder)).toEqual(['row 1', 'after']);
  });

  it('get whole rows from two writers at once', async () => {
    const folder = temporaryFolder();
    const limits = { fileSize: 1_000_000, fullFiles: 2 };
    const writers = [rigIn(folder, limits).audit, rigIn(folder, limits).audit];
    const long = 'x'.repeat(1000);
    await Promise.all(
      writers.flatMap((audit) =>
        Array.from({ length: 200 }, () => audit.record({ event: 'pair', outcome: long })),
      ),
    );
    expect(await tailAudit(folder, 1000)).toMatchObject({ rows: { length: 400 }, skipped: 0 });
  });
});

describe('an audit log that can’t be written', () => {
  const blocks: [string, (file: string) => void, (file: string) => void][] = [
    ['a folder in its place', (file) => mkdirSync(file), rmdirSync],
    ['a symbolic link', (file) => symlinkSync('/dev/null', file), unlinkSync],
    ['others’ rights', (file) => (writeFileSync(file, ''), chmodSync(file, 0o644)), unlinkSync],
  ];

  it.each(blocks)('loses no row and no request by %s', async (_what, block, unblock) => {
    const rig = rigIn(temporaryFolder(), { fileSize: 1_000_000, fullFiles: 2 });
    block(rig.file);
    await rig.audit.record({ event: 'pair', outcome: 'one' });
    rig.audit.note({ event: 'refresh', outcome: 'two' });
    expect(rig.audit.trouble).toMatchObject({ waiting: 2, lost: 0, error: { reason: 'file_unreadable' } });
    expect(await refusal(rig.audit.flush())).toMatchObject({ reason: 'file_unreadable' });
    expect(await refusal(rig.audit.tail(5))).toMatchObject({ reason: 'file_unreadable' });
    unblock(rig.file);
    expect((await rig.audit.tail(5)).rows.map(({ outcome }) => outcome)).toEqual(['one', 'two']);
    expect(rig.audit.trouble).toBeUndefined();
  });

  it('is tried again after thirty seconds, though nothing else happens', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const rig = rigIn();
    mkdirSync(rig.file);
    await rig.audit.record({ event: 'pair', outcome: 'one' });
    rmdirSync(rig.file);
    vi.advanceTimersByTime(29_999);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await expect.poll(() => rig.audit.trouble).toBeUndefined();
    expect(readFileSync(rig.file, 'utf8')).toContain('"outcome":"one"');
  });

  it('on a full disk keeps whole rows, and the rest in memory', async () => {
    const folder = temporaryFolder();
    const module = JSON.stringify(path.resolve('src/audit/audit.ts'));
    const program = `
      import { AuditFile } from ${module};
      const audit = new AuditFile(process.argv[1], () => 0);
      for (let n = 0; n < 50; n += 1) await audit.record({ event: 'pair', outcome: 'x'.repeat(150) });
      console.log(JSON.stringify(audit.trouble));`;
    const told = onFullDisk(4, '--input-type=module', '-e', program, folder);
    const { rows, skipped } = await tailAudit(folder, 100);
    expect([rows.length > 15, skipped]).toEqual([true, 0]);
    expect(JSON.parse(told)).toMatchObject({ waiting: 50 - rows.length, lost: 0 });
  });

  it('keeps four megabytes of rows in memory, and a row counts those that had no room', async () => {
    const rig = rigIn(temporaryFolder(), { fileSize: 10_000_000, fullFiles: 2 });
    mkdirSync(rig.file);
    const row: AuditRow = { event: 'refresh', outcome: 'x'.repeat(1000) };
    for (let n = 0; n < 5000; n += 1) rig.audit.note(row);
    await rig.audit.record({ event: 'pair', outcome: 'approve' });
    const { waiting = 0, lost = 0 } = rig.audit.trouble ?? {};
    expect([waiting > 3500, waiting + lost]).toEqual([true, 5001]);
    rmdirSync(rig.file);
    rig.clock.time += 1000;
    await rig.audit.record({ event: 'pair', outcome: 'dismiss' });
    const { rows } = await tailAudit(rig.folder, 2);
    const last = { first: rig.clock.time - 1000, last: rig.clock.time - 1000 };
    expect(rows).toMatchObject([
      { event: 'lost', outcome: 'no room', count: lost, ...last },
      { outcome: 'dismiss' },
    ]);
    rig.audit.note(row);
    expect(await rig.audit.tail(1)).toMatchObject({ rows: [row] });
  });
});

describe('an export of the audit log', () => {
  it('has the log’s own lines, or a table with times in UTC', async () => {
    const rig = rigIn();
    await rig.audit.record({ event: 'pair', outcome: 'say "yes"', app: '=cmd()', scope: ['a', 'b'] });
    expect(await exported(rig.folder, 'jsonl')).toBe(readFileSync(rig.file, 'utf8'));
    const [head, line, ...rest] = (await exported(rig.folder, 'csv')).split('\r\n');
    expect(head).toMatch(/^"time","event"/);
    expect(line).toContain('"2027-01-15T08:00:00.000Z","pair","say ""yes""","\'=cmd()"');
    expect(line).toContain('"a b"');
    expect(rest).toEqual(['']);
  });

  it.each(Array.from('=+-@＝＋－＠﹦﹢﹣﹫−').flatMap((sign) => [sign, ` ${sign}`, `\u3000${sign}"\n`]))(
    'has no cell that a spreadsheet runs as a formula: %j',
    async (sign) => {
      const rig = rigIn();
      await rig.audit.record({ event: 'pair', outcome: 'approve', app: `${sign}cmd()` });
      expect(await exported(rig.folder, 'csv')).toContain(`"'${sign.slice(0, 1)}`);
    },
  );
});

describe('counting by the hour', () => {
  const hour = 3_600_000;
  const limits = { fileSize: 2000, fullFiles: 50 };

  it('hours are counted over all files, repeats included, and what failed', async () => {
    const rig = rigIn(temporaryFolder(), limits);
    const start = Math.floor(rig.clock.time / hour) * hour;
    const note = (at: number, event: 'token' | 'refused' | 'refresh' | 'apiKey', outcome: string) => {
      rig.clock.time = start + at;
      rig.audit.note({ event, outcome, app: 'editor' });
    };
    // The hour before the first that is asked for.
    note(-1, 'token', 'ok');
    await rig.audit.flush();
    for (let minute = 0; minute < 40; minute += 1) {
      // The repeats of a minute share a row, which counts them.
      for (let second = 0; second < 5; second += 1) note(minute * 60_000 + second, 'token', 'ok');
      await rig.audit.flush();
    }
    note(hour, 'refused', 'consent_required');
    note(hour + 1, 'apiKey', 'given');
    note(hour + 2, 'apiKey', 'set');
    note(hour + 3, 'refresh', 'ok');
    note(hour + 4, 'refresh', 'login_required');
    const { hours } = await rig.audit.activity(2);
    expect(rig.names().length).toBeGreaterThan(3);
    expect(hours).toEqual([
      { at: start, handedOut: 200, refused: 0, refreshed: 0, failed: 0 },
      { at: start + hour, handedOut: 1, refused: 1, refreshed: 1, failed: 1 },
    ]);
    expect(await rigIn().audit.activity(1)).toEqual({
      hours: [{ at: start, handedOut: 0, refused: 0, refreshed: 0, failed: 0 }],
      uses: [],
    });
  });

  it('uses are told by app and server, the most used first', async () => {
    const rig = rigIn(temporaryFolder(), limits);
    const start = Math.floor(rig.clock.time / hour) * hour;
    const note = (at: number, event: 'token' | 'refused' | 'apiKey', client: string, endpoint: string) => {
      rig.clock.time = start + at;
      rig.audit.note({ event, outcome: event === 'apiKey' ? 'given' : 'ok', app: client, endpoint });
    };
    const [notes, files] = ['https://notes.example/mcp', 'https://files.example/mcp'] as const;
    note(1, 'token', 'editor', notes);
    note(2, 'token', 'editor', files);
    note(hour, 'token', 'editor', files);
    note(hour + 1, 'apiKey', 'agent', notes);
    note(hour + 2, 'refused', 'agent', files);
    // A use without an endpoint is nobody's use of a server.
    rig.audit.note({ event: 'token', outcome: 'ok', app: 'editor' });
    const { uses } = await rig.audit.activity(2);
    expect(uses[0]).toEqual({ app: 'editor', endpoint: files, last: start + hour, handedOut: [1, 1] });
    expect(uses.slice(1).map(({ app: client, handedOut }) => [client, ...handedOut])).toEqual([
      ['editor', 1, 0],
      ['agent', 0, 1],
    ]);
  });
});
