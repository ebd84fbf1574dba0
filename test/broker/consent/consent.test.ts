/** No permission, no token: when the user is asked, what an answer changes, and what ends a permission. */
import { describe, expect, it, vi } from 'vitest';
import type { Permission } from '../../../src/broker/records/permission.ts';
import { revokeSignIn } from '../../../src/broker/revocation/revoker.ts';
import { brokerRig, inWorld, refusal, turnOfEvents, type Rig } from '../rig.ts';
import { worldOfFile } from '../places.ts';

const world = worldOfFile();

const rig = (): Promise<Rig> => brokerRig(inWorld(world));

const hour = 3_600_000;

function permissionOf({ parts, endpoint, clock }: Rig, appId = 'editor') {
  return parts.permissions.find(appId, endpoint, clock.now());
}

/** The owner decides by a command: an approval, unless `changes` denies. */
async function decided({ broker, endpoint, clock }: Rig, changes: Partial<Permission>): Promise<void> {
  await broker.consent.decide({
    appId: 'editor',
    endpoint,
    decision: 'allow',
    createdAt: clock.now(),
    ...changes,
  });
}

describe('a program without permission', () => {
  it('PROMISE-6: raises a question, and nothing is fetched before its answer', async () => {
    const { ask, question, fetched, parts, endpoint } = await rig();
    const asked = ask({ scope: ['notes:read'] });
    const card = await question('allow');
    expect(card.question).toEqual({
      kind: 'allow',
      canAllowAsBefore: expect.any(Function),
      appId: 'editor',
      appName: 'editor',
      endpoint,
      scope: ['notes:read'],
    });
    expect(fetched).toEqual([]);
    parts.approvalRequests.answer(card.id, 'approve');
    expect((await asked).scope).toEqual(['notes:read']);
  });

  it('an approval gives an app no scope that the request does not show', async () => {
    const { ask, question, parts, endpoint, clock } = await rig();
    const asked = ask({ scope: ['notes:read', 'notes:list'] });
    const { id } = await question('allow');
    expect(() =>
      parts.approvalRequests.answer(id, 'approve', { scope: ['notes:read', 'notes:write'] }),
    ).toThrow(
      expect.objectContaining({
        reason: 'invalid_request',
        message: 'The request does not ask for "notes:write".',
        hint: expect.stringContaining('It asks for "notes:read", "notes:list".'),
      }),
    );
    parts.approvalRequests.answer(id, 'approve', { scope: ['notes:read'] });
    expect(await refusal(asked)).toMatchObject({ reason: 'consent_required' });
    expect(parts.permissions.find('editor', endpoint, clock.now())).toMatchObject({ scope: ['notes:read'] });
  });

  it('is refused at once if it wants no interaction', async () => {
    const { ask, parts, fetched } = await rig();
    const error = await refusal(ask({ interaction: 'never' }));
    expect(error).toMatchObject({
      reason: 'consent_required',
      hint: expect.stringContaining('keyturn app allow'),
    });
    expect(parts.approvalRequests.list()).toEqual([]);
    expect(fetched).toEqual([]);
  });

  it('is refused at once where you set an API key and nobody signed in', async () => {
    const { ask, parts, endpoint } = await rig();
    await parts.apiKeys.set({ endpoint, header: 'x-api-key' }, 'aKey', { setAt: 1 });
    expect(await refusal(ask())).toMatchObject({ reason: 'login_required' });
    expect(parts.approvalRequests.list()).toEqual([]);
  });

  it('the requests of one program without permission share one question', async () => {
    const { ask, question, parts } = await rig();
    const asked = [ask(), ask(), ask()];
    const card = await question('allow');
    expect(parts.approvalRequests.list()).toHaveLength(1);
    parts.approvalRequests.answer(card.id, 'deny');
    for (const one of asked) expect(await refusal(one)).toMatchObject({ reason: 'consent_denied' });
  });

  it('can open only so many questions', async () => {
    const { ask, parts, endpoint } = await rig();
    const withdrawn = new AbortController();
    const asked = Array.from({ length: 9 }, (_, n) =>
      refusal(ask({ resource: `${endpoint}/${n}`, signal: withdrawn.signal })),
    );
    expect(await asked[8]).toMatchObject({ reason: 'rate_limited' });
    expect(parts.approvalRequests.list()).toHaveLength(8);
    const other = refusal(ask({ appId: 'agent', signal: withdrawn.signal }));
    expect(parts.approvalRequests.list()).toHaveLength(9);
    withdrawn.abort();
    await Promise.all([...asked, other]);
    expect(parts.approvalRequests.list()).toEqual([]);
  });
});

describe('an answer', () => {
  it('PROMISE-6: the answer `deny` is remembered, and the question is not asked again', async () => {
    const { ask, question, parts } = await rig();
    const first = ask();
    parts.approvalRequests.answer((await question('allow')).id, 'deny');
    expect(await refusal(first)).toMatchObject({ reason: 'consent_denied' });
    expect(await refusal(ask())).toMatchObject({ reason: 'consent_denied' });
    expect(await refusal(ask({ interaction: 'never' }))).toMatchObject({ reason: 'consent_denied' });
    expect(parts.approvalRequests.list()).toEqual([]);
  });

  it('PROMISE-6: the answer `dismiss` leaves no trace: the next request asks again', async () => {
    const { ask, question, parts, clock } = await rig();
    const first = ask();
    parts.approvalRequests.answer((await question('allow')).id, 'dismiss');
    expect(await refusal(first)).toMatchObject({
      reason: 'consent_required',
      message: expect.stringContaining('you denied it or did not answer'),
    });
    expect(parts.permissions.of('editor', 0)).toEqual([]);
    clock.advance(1000);
    const second = refusal(ask());
    parts.approvalRequests.answer((await question('allow')).id, 'deny');
    await second;
  });

  it('that comes after the request ran out of time still counts', async () => {
    const { ask, question, parts, clock } = await rig();
    const first = refusal(ask({ timeout: 5000 }));
    const card = await question('allow');
    clock.advance(5000);
    expect(await first).toMatchObject({ reason: 'consent_pending', hint: expect.stringContaining(card.id) });
    parts.approvalRequests.answer(card.id, 'approve');
    await turnOfEvents();
    expect((await ask({ timeout: 60_000 })).accessToken).toBeTypeOf('string');
  });

  it('is no longer possible once the program has gone away', async () => {
    const { ask, question, parts } = await rig();
    const program = new AbortController();
    const asked = refusal(ask({ signal: program.signal }));
    const { id } = await question('allow');
    program.abort();
    expect(await asked).toMatchObject({ reason: 'interrupted' });
    expect(() => parts.approvalRequests.answer(id, 'approve')).toThrow(
      expect.objectContaining({ reason: 'not_found' }),
    );
  });

  it('stays possible if another program with the same question timed out', async () => {
    const { ask, question, parts, clock } = await rig();
    const patient = refusal(ask({ timeout: 1000 }));
    const { id } = await question('allow');
    clock.advance(1000);
    expect(await patient).toMatchObject({ reason: 'consent_pending' });
    const program = new AbortController();
    const hasty = refusal(ask({ signal: program.signal }));
    program.abort();
    expect(await hasty).toMatchObject({ reason: 'interrupted' });
    expect(parts.approvalRequests.answer(id, 'dismiss').id).toBe(id);
  });

  it('a program that comes just after the last one went away raises its own question', async () => {
    const { ask, question, parts, clock } = await rig();
    const program = new AbortController();
    const first = refusal(ask({ signal: program.signal }));
    await question('allow');
    program.abort();
    expect(await first).toMatchObject({ reason: 'interrupted' });
    clock.advance(1000);
    const second = ask();
    parts.approvalRequests.answer((await question('allow')).id, 'approve');
    expect((await second).accessToken).toBeTypeOf('string');
  });

  it('an open question is dismissed after ten minutes', async () => {
    const { ask, question, parts, clock } = await rig();
    const asked = refusal(ask({ timeout: hour }));
    await question('allow');
    clock.advance(600_000);
    expect(await asked).toMatchObject({ reason: 'consent_required' });
    expect(parts.approvalRequests.list()).toEqual([]);
  });

  it('to a question of the command line gives a temporary of one hour', async () => {
    const r = await rig();
    const asked = r.ask({ appId: 'cli' });
    r.parts.approvalRequests.answer((await r.question('allow')).id, 'approve');
    await asked;
    expect(permissionOf(r, 'cli')?.until).toBe(r.clock.now() + hour);
    r.clock.advance(hour);
    const late = r.ask({ appId: 'cli', interaction: 'never' });
    expect(await refusal(late)).toMatchObject({ reason: 'consent_required' });
  });
});

describe('a permission', () => {
  it('whose card named no scopes gets the first token’s scopes and resource', async () => {
    const r = await rig();
    const first = r.ask();
    r.parts.approvalRequests.answer((await r.question('allow')).id, 'approve');
    const { scope } = await first;
    expect(permissionOf(r)).toMatchObject({ resource: world.protectedServer.resource });
    expect(permissionOf(r)?.fixAtFirstToken).toBeUndefined();
    const asked = refusal(r.ask({ scope: ['notes:write'] }));
    const card = await r.question('allow');
    expect(card.question).toMatchObject({ scope: [...scope, 'notes:write'] });
    r.parts.approvalRequests.answer(card.id, 'dismiss');
    await asked;
  });

  it('is given for as long again by the hint after its end', async () => {
    const r = await rig();
    await decided(r, { scope: ['notes:read'], until: r.clock.wall() + 2 * hour, createdAt: r.clock.wall() });
    r.clock.advance(2 * hour);
    expect(await refusal(r.ask({ interaction: 'never' }))).toMatchObject({
      reason: 'consent_required',
      message: expect.stringContaining('and its permission ended at'),
      hint: `Allow it with: keyturn app allow editor ${r.endpoint} --scope "notes:read" --for 2h`,
    });
  });

  it('keeps its temporary and its resource when a card widens it', async () => {
    const r = await rig();
    const until = r.clock.now() + hour;
    await decided(r, { scope: ['notes:read'], until, resource: world.protectedServer.resource });
    const asked = r.ask({ scope: ['notes:write'] });
    r.parts.approvalRequests.answer((await r.question('allow')).id, 'approve');
    await asked;
    expect(permissionOf(r)).toMatchObject({
      until,
      resource: world.protectedServer.resource,
      scope: ['notes:read', 'notes:write'],
    });
  });

  it('stays when the user refuses more, and the refusal is remembered', async () => {
    const r = await rig();
    await r.allow('editor', ['notes:read']);
    const asked = refusal(r.ask({ scope: ['notes:write'] }));
    r.parts.approvalRequests.answer((await r.question('allow')).id, 'deny');
    expect(await asked).toMatchObject({ reason: 'consent_denied' });
    expect(await refusal(r.ask({ scope: ['notes:write'] }))).toMatchObject({ reason: 'consent_denied' });
    expect(r.parts.approvalRequests.list()).toEqual([]);
    expect((await r.ask()).scope).toEqual(['notes:read']);
    await r.allow('editor', ['notes:read']);
    expect(await refusal(r.ask({ scope: ['notes:write'] }))).toMatchObject({ reason: 'consent_denied' });
    await r.allow('editor', ['notes:read', 'notes:write']);
    expect((await r.ask({ scope: ['notes:write'] })).scope).toContain('notes:write');
  });

  it('is decided by command, which answers the open card', async () => {
    const r = await rig();
    const asked = r.ask({ scope: ['notes:read'] });
    await r.question('allow');
    await r.allow('editor', ['notes:read']);
    expect((await asked).scope).toEqual(['notes:read']);
    expect(r.parts.approvalRequests.list()).toEqual([]);
    const more = refusal(r.ask({ scope: ['notes:write'] }));
    await r.question('allow');
    await decided(r, { decision: 'deny' });
    expect(await more).toMatchObject({ reason: 'consent_denied' });
  });

  it('that ended gives no token from memory', async () => {
    const r = await rig();
    await r.allow();
    await r.ask();
    await r.parts.permissions.revoke('editor', r.endpoint);
    expect(await refusal(r.ask({ interaction: 'never' }))).toMatchObject({ reason: 'consent_required' });
  });

  it('PROMISE-4: for another resource than the server now names gives no token', async () => {
    const r = await rig();
    await decided(r, { resource: 'https://moved.example/mcp' });
    expect(await refusal(r.ask())).toMatchObject({ reason: 'resource_mismatch' });
  });
});

it.each<[string, string, (r: Rig) => Promise<unknown>]>([
  ['a decision for fewer scopes', 'scope_insufficient', (r) => r.allow('editor', ['other'])],
  [
    'the end of a temporary permission',
    'consent_required',
    async (r) => {
      await decided(r, { until: r.clock.now() + 1000 });
      r.clock.advance(1000);
    },
  ],
])('%s during a sign-in takes precedence', async (_what, reason, act) => {
  const r = await rig();
  await r.allow();
  r.person.isThere = false;
  const asked = refusal(r.ask());
  await r.question('signIn');
  await act(r);
  const standing = permissionOf(r);
  await world.signIn(r.pages[0] ?? '');
  expect(await asked).toMatchObject({ reason });
  expect(permissionOf(r)).toEqual(standing);
  expect(r.texts().join('')).not.toContain('"event":"token"');
});

describe('a decision of the user during a token request takes precedence', () => {
  async function withToken(): Promise<Rig> {
    const r = await rig();
    await r.login();
    await r.allow();
    return r;
  }

  const deny = (r: Rig): Promise<void> => decided(r, { decision: 'deny' });

  it('a denial during a refresh takes precedence', async () => {
    const r = await withToken();
    r.clock.advance(hour);
    const held = world.holdTokenRequests();
    const asked = refusal(r.ask());
    await held.arrived;
    await deny(r);
    held.release();
    expect(await asked).toMatchObject({ reason: 'consent_denied' });
    expect(permissionOf(r)?.decision).toBe('deny');
  });

  /** Acts while the permission is being written down with its resource. */
  function whileBinding({ parts }: Rig, act: () => Promise<unknown>, isFirst = false): Promise<unknown> {
    const acted = Promise.withResolvers<unknown>();
    const replace = parts.permissions.replace.bind(parts.permissions);
    vi.spyOn(parts.permissions, 'replace').mockImplementationOnce(async (read, next) => {
      if (isFirst) acted.resolve(act());
      const written = replace(read, next);
      if (!isFirst) acted.resolve(act());
      return written;
    });
    return acted.promise;
  }

  it.each([true, false])('a denial wins over writing the resource (it comes first: %j)', async (isFirst) => {
    const r = await withToken();
    const acted = whileBinding(r, () => deny(r), isFirst);
    expect(await refusal(r.ask())).toMatchObject({ reason: 'consent_denied' });
    await acted;
    expect(permissionOf(r)?.decision).toBe('deny');
  });

  it('a revocation wins over writing the permission’s resource', async () => {
    const r = await withToken();
    const acted = whileBinding(r, () => revokeSignIn(r.parts, r.signIn()));
    expect(await refusal(r.ask())).toMatchObject({ reason: 'login_required' });
    await acted;
  });
});

it('two answers at once about one program and server give both what each allowed', async () => {
  const r = await rig();
  const one = r.ask({ scope: ['notes:read'] });
  const other = r.ask({ scope: ['notes:write'] });
  await r.question('allow');
  await vi.waitFor(() => expect(r.parts.approvalRequests.list()).toHaveLength(2));
  for (const { id } of r.parts.approvalRequests.list()) r.parts.approvalRequests.answer(id, 'approve');
  await Promise.all([one, other]);
  expect(permissionOf(r)?.scope?.toSorted()).toEqual(['notes:read', 'notes:write']);
});
