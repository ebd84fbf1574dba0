/** The rows of the audit log: each event once, and no secret. */
import { createSecretKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { AuditFile } from '../../src/audit/audit.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function auditIn(folder: string) {
  const clock = { time: 1234 };
  const file = path.join(folder, 'audit.jsonl');
  const rows = (): Record<string, unknown>[] =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { audit: new AuditFile(folder, () => clock.time), file, rows, clock };
}

describe('an audit row', () => {
  it('X-10: an audit row about authority is on disk when its action is done', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    await audit.record({ event: 'permission', outcome: 'allow', app: 'editor' });
    expect(rows()).toEqual([{ time: 1234, event: 'permission', outcome: 'allow', app: 'editor' }]);
  });

  it('X-10: an audit row about a token waits in memory and keeps its place', async () => {
    const { audit, file, rows } = auditIn(temporaryFolder());
    audit.note({ event: 'token', outcome: 'ok' });
    expect(existsSync(file)).toBe(false);
    await audit.record({ event: 'revoke', outcome: 'confirmed' });
    expect(rows().map(({ event }) => event)).toEqual(['token', 'revoke']);
  });

  it('an audit row has URLs without their query', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    const url = 'https://a.example/mcp?key=hush';
    const issuer = 'https://me:hush@a.example/issuer#hush';
    await audit.record({ event: 'token', outcome: 'ok', endpoint: url, resource: url, issuer });
    expect(rows()[0]).toMatchObject({
      endpoint: 'https://a.example/mcp?…',
      resource: 'https://a.example/mcp?…',
      issuer: 'https://…@a.example/issuer#…',
    });
  });

  it('an audit row stays one short line, whatever a program sends as its name', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    const scope = Array.from({ length: 5000 }, (_, n) => `scope-${n}`);
    await audit.record({ event: 'pair', outcome: 'approve', app: `a\n{}${'x'.repeat(100_000)}`, scope });
    expect(rows()).toHaveLength(1);
    expect(JSON.stringify(rows()[0]).length).toBeLessThan(3000);
  });

  it('an audit row knows a token by a fingerprint that lasts with the home', () => {
    const [one, other] = [auditIn(temporaryFolder()).audit, auditIn(temporaryFolder()).audit];
    expect(one.fingerprint('token-1')).toBeUndefined();
    one.useRoot(createSecretKey(Buffer.alloc(32, 1)));
    expect(one.fingerprint('token-1')).toMatch(/^[0-9a-f]{16}$/);
    expect(one.fingerprint('token-1')).not.toBe(one.fingerprint('token-2'));
    other.useRoot(createSecretKey(Buffer.alloc(32, 1)));
    expect(other.fingerprint('token-1')).toBe(one.fingerprint('token-1'));
  });
});

describe('repetitions of one answer', () => {
  const hit = { event: 'token', outcome: 'ok', app: 'editor', signIn: 'g', scope: ['read'] } as const;

  it('repeats of one answer get a row at once, then one a minute with their number', async () => {
    const { audit, rows, clock } = auditIn(temporaryFolder());
    for (let second = 0; second <= 60; second += 1) {
      audit.note(hit);
      clock.time += 1000;
    }
    await audit.flush();
    expect(rows()).toMatchObject([
      { time: 1234, ...hit },
      { time: 60_234, ...hit, count: 59, first: 2234, last: 60_234 },
      { time: 61_234, ...hit },
    ]);
    expect(rows()[0]).not.toHaveProperty('count');
  });

  it('repeats are counted separately by program, sign-in, scope, token and outcome', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    const others = [
      { app: 'agent' },
      { signIn: 'h' },
      { scope: ['read', 'write'] },
      { fingerprint: '0123456789abcdef' },
      { outcome: 'refreshed' },
    ];
    for (const other of [{}, ...others]) audit.note({ ...hit, ...other });
    await audit.flush();
    expect(rows()).toHaveLength(6);
  });

  it('repeats of more than a thousand kinds a minute are counted as lost', async () => {
    const { audit, rows, clock } = auditIn(temporaryFolder());
    const refused = (n: number): void => {
      audit.note({ event: 'refused', outcome: 'not_permitted', endpoint: `https://a.example/${n}` });
    };
    for (let n = 0; n < 1005; n += 1) refused(n);
    await audit.record({ event: 'pair', outcome: 'approve' });
    expect(rows().at(-1)).toMatchObject({ event: 'lost', count: 5 });
    clock.time += 60_000;
    refused(2000);
    await audit.flush();
    expect(rows().at(-1)).toMatchObject({ endpoint: 'https://a.example/2000' });
  });
});
