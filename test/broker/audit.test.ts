/** The audit trail: every row, no secret, and an honest word about rows that were lost. */
import { mkdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuditFile } from '../../src/broker/audit.ts';
import { revokeGrant } from '../../src/broker/revoker.ts';
import { openSite } from '../oauth/site.ts';
import type { Site } from '../oauth/site.ts';
import { oddServer, redirectOf } from './odd-server.ts';
import { brokerRig, refusal, temporaryFolder } from './rig.ts';

function auditIn(folder: string): { audit: AuditFile; file: string; rows: () => Record<string, unknown>[] } {
  const file = path.join(folder, 'state', 'audit.jsonl');
  const rows = (): Record<string, unknown>[] =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { audit: new AuditFile(file, () => 1234), file, rows };
}

describe('an audit row', () => {
  it('about authority is on disk when its deed is done, readable by the owner only', async () => {
    const { audit, file, rows } = auditIn(temporaryFolder());
    await audit.record({ event: 'permission', outcome: 'allow', client: 'editor' });
    expect(rows()).toEqual([{ time: 1234, event: 'permission', outcome: 'allow', client: 'editor' }]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('about a token waits in memory and keeps its place', async () => {
    const { audit, file, rows } = auditIn(temporaryFolder());
    audit.note({ event: 'token', outcome: 'ok' });
    expect(() => statSync(file)).toThrow('ENOENT');
    await audit.record({ event: 'revoke', outcome: 'confirmed' });
    expect(rows().map(({ event }) => event)).toEqual(['token', 'revoke']);
  });

  it('loses the query of its URLs', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    const url = 'https://a.example/mcp?key=hush';
    await audit.record({ event: 'token', outcome: 'ok', endpoint: url, resource: url });
    expect(rows()[0]).toMatchObject({
      endpoint: 'https://a.example/mcp?…',
      resource: 'https://a.example/mcp?…',
    });
  });

  it('stays one line whatever a program calls itself', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    await audit.record({ event: 'pair', outcome: 'yes', client: 'a\n{"event":"revoke"}' });
    expect(rows()).toHaveLength(1);
  });

  it('that can’t be written is written with the next one', async () => {
    const folder = temporaryFolder();
    const { audit, file, rows } = auditIn(folder);
    mkdirSync(file, { recursive: true });
    await refusal(audit.record({ event: 'pair', outcome: 'yes' }));
    rmdirSync(file);
    await audit.record({ event: 'pair', outcome: 'no' });
    expect(rows().map(({ outcome }) => outcome)).toEqual(['yes', 'no']);
  });

  it('beyond ten thousand in memory is counted as lost', async () => {
    const { audit, rows } = auditIn(temporaryFolder());
    for (let n = 0; n < 10_003; n += 1) audit.note({ event: 'token', outcome: 'ok' });
    await audit.flush();
    expect(rows()).toHaveLength(10_001);
    expect(rows().at(-1)).toEqual({ time: 1234, event: 'lost', rows: 3 });
    audit.note({ event: 'token', outcome: 'ok' });
    await audit.flush();
    expect(rows().at(-1)).toMatchObject({ event: 'token' });
  });
});

describe('a whole journey', () => {
  let site: Site;
  beforeAll(async () => {
    site = await openSite();
  });
  afterAll(async () => site.close());

  /** What nobody but the vault and the network may see. */
  const secrets = /SECRET|code (basic|read|write)/;

  it('leaves no token, code, verifier, state or client secret in any file', async () => {
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
    rig.broker.rejectToken({ clientId: 'editor', token: { accessToken: token.accessToken } });
    const stepUp = refusal(rig.ask({ scope: ['write'] }));
    rig.parts.interactions.answer((await rig.question('allow')).id, 'no');
    await stepUp;
    server.answer = () => ({ status: 400, body: { error: 'invalid_grant', error_description: 'SECRET' } });
    rig.clock.advance(3_600_000);
    await refusal(rig.ask());
    await revokeGrant(rig.parts, rig.grant());
    await rig.parts.audit.flush();
    expect(JSON.stringify(server.tokenRequests.map((form) => [...form]))).toMatch(secrets);
    const texts = rig.texts();
    expect(texts).toHaveLength(4);
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
    for (const event of ['permission', 'registration', 'login', 'token', 'refresh', 'refused', 'revoke']) {
      expect(audit).toContain(`"event":"${event}"`);
    }
  });

  it('puts no secret in its refusals', async () => {
    const server = oddServer(site, { scopesSupported: ['read'] });
    const rig = await brokerRig(server);
    await rig.allow();
    await rig.ask();
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
