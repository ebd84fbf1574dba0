/** The rows of the audit log: each event once, and no secret. */
import { createSecretKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuditFile } from '../../src/audit/audit.ts';
import { revokeSignIn } from '../../src/broker/revocation/revoker.ts';
import { openSite, type Site } from '../oauth/site.ts';
import { oddServer, redirectOf } from '../broker/odd-server.ts';
import { brokerRig, usedRig, refusal } from '../broker/rig.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface TriedAudit {
  readonly audit: AuditFile;
  readonly file: string;
  readonly rows: () => Record<string, unknown>[];
  readonly clock: { time: number };
}

function auditIn(folder: string): TriedAudit {
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

  it('X-10: an audit row about a token waits in memory and keeps its position in the order', async () => {
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

  it('an audit row is bounded in length, whatever a program sends as its name and request', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    const scope = Array.from({ length: 5000 }, (_, n) => `scope-${n}`);
    await audit.record({ event: 'pair', outcome: 'yes', app: 'x'.repeat(100_000), scope });
    expect(JSON.stringify(rows()[0]).length).toBeLessThan(3000);
  });

  it('an audit row stays one line, whatever a program sends as its name', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    await audit.record({ event: 'pair', outcome: 'yes', app: 'a\n{"event":"revoke"}' });
    expect(rows()).toHaveLength(1);
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

  it('the rows of repeats are written when the broker stops', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    for (let n = 0; n < 4; n += 1) audit.note(hit);
    await audit.flush();
    expect(rows().at(-1)).toMatchObject({ ...hit, count: 3 });
  });

  it('repeats of more than a thousand kinds a minute are counted as lost', async () => {
    const { audit, rows, clock } = auditIn(temporaryFolder());
    const refused = (n: number): void => {
      audit.note({ event: 'refused', outcome: 'not_permitted', endpoint: `https://a.example/${n}` });
    };
    for (let n = 0; n < 1005; n += 1) refused(n);
    await audit.record({ event: 'pair', outcome: 'yes' });
    expect(rows().at(-1)).toMatchObject({ event: 'lost', count: 5 });
    clock.time += 60_000;
    refused(2000);
    await audit.flush();
    expect(rows().at(-1)).toMatchObject({ endpoint: 'https://a.example/2000' });
  });
});

describe('a whole journey', () => {
  let site: Site;
  beforeAll(async () => {
    site = await openSite();
  });
  afterAll(async () => site.close());

  /** Values that only the vault and the network may see. */
  const secrets = /SECRET|code (basic|read|write)/;

  it('X-4: a whole sign-in leaves no secret in any file of the audit log', async () => {
    const server = oddServer(site, { scopesSupported: ['read'] });
    site.lay('/register', {
      status: 201,
      body: {
        client_id: 'client-1',
        client_secret: 'SECRET-client',
        token_endpoint_auth_method: 'client_secret_post',
      },
    });
    server.answer = (_form, usual) => ({
      ...usual,
      access_token: `SECRET-${usual.access_token}`,
      refresh_token: `SECRET-${usual.refresh_token}`,
    });
    const rig = await brokerRig(server);
    const card = rig.ask();
    rig.parts.interactions.answer((await rig.question('allow')).id, 'yes');
    const token = await card;
    rig.clock.advance(3_600_000);
    await rig.ask();
    rig.broker.rejections.reject({ appId: 'editor', token: { accessToken: token.accessToken } });
    const stepUp = refusal(rig.ask({ scope: ['write'] }));
    rig.parts.interactions.answer((await rig.question('allow')).id, 'no');
    await stepUp;
    server.answer = () => ({ status: 400, body: { error: 'invalid_grant', error_description: 'SECRET' } });
    rig.clock.advance(3_600_000);
    await refusal(rig.ask());
    await revokeSignIn(rig.parts, rig.signIn());
    await rig.parts.audit.flush();
    expect(JSON.stringify(server.tokenRequests.map((form) => [...form]))).toMatch(secrets);
    const texts = rig.texts();
    expect(texts).toHaveLength(2);
    for (const text of texts) {
      expect(text).not.toMatch(secrets);
      for (const page of rig.pages) {
        expect(text).not.toContain(redirectOf(page).searchParams.get('state'));
      }
      for (const form of server.tokenRequests) {
        const verifier = form.get('code_verifier');
        if (verifier !== null) expect(text).not.toContain(verifier);
      }
    }
    const audit = texts.find((text) => text.includes('"event":"token"')) ?? '';
    for (const event of ['permission', 'oauthClient', 'signIn', 'token', 'refresh', 'refused', 'revoke']) {
      expect(audit).toContain(`"event":"${event}"`);
    }
  });

  it('refusals of the audit log hold no secret', async () => {
    const server = oddServer(site, { scopesSupported: ['read'] });
    const rig = await usedRig(server);
    const body = 'SECRET-body {"refresh_token":"SECRET"}';
    for (const answer of [
      { status: 200, body },
      { status: 400, body },
      { status: 503, body },
    ]) {
      server.answer = () => answer;
      rig.clock.advance(3_600_000);
      const error = await refusal(rig.ask());
      const shown = error instanceof Error ? `${error.message} ${error.stack} ${JSON.stringify(error)}` : '';
      expect(shown).toContain('token endpoint');
      expect(shown).not.toMatch(/SECRET|refresh-1/);
      expect(error).toMatchObject({ reason: 'authorization_server_unreachable' });
      expect((error as Error).cause).toBeUndefined();
    }
  });
});
