/** Permissions for one run, or for a time: which requests they serve, and what is left when they end. */
import { describe, expect, it } from 'vitest';
import type { AppProcess, ProcessState } from '../../../src/broker/approval-requests/app-process.ts';
import { TemporaryPermissions } from '../../../src/broker/consent/temporary-permissions.ts';
import { brokerRig, inWorld, refusal, type Rig } from '../rig.ts';
import { worldOfFile } from '../places.ts';

const world = worldOfFile();

const rig = (): Promise<Rig> => brokerRig(inWorld(world));

const minute = 60_000;

/** A process as the socket would show it; `nowIs` is what becomes of it. */
function processNamed(run: string): AppProcess & { nowIs: ProcessState } {
  const appProcess = {
    run,
    nowIs: 'same' as ProcessState,
    currentFacts: () => ({
      run,
      verified: true,
      pid: 7,
      executable: '/usr/bin/editor',
      parents: ['shell'],
      nowIs: () => appProcess.nowIs,
    }),
  };
  return appProcess;
}

const never = { interaction: 'never' } as const;
const refused = { reason: 'consent_required' };

describe('an approval for this run', () => {
  it('applies to the run that asked, is not stored, and ends with it', async () => {
    const { broker, ask, question, parts, texts, endpoint } = await rig();
    const appProcess = processNamed('run 1');
    const asked = ask({ appProcess });
    parts.approvalRequests.answer((await question('allow')).id, 'approve', { run: true });
    const token = await asked;
    expect((await ask({ ...never, appProcess })).tokenId).toBe(token.tokenId);
    expect(await refusal(ask({ ...never, appProcess: processNamed('run 2') }))).toMatchObject(refused);
    expect(await refusal(ask(never))).toMatchObject(refused);
    expect(texts().join('\n')).not.toContain('"decision"');

    broker.consent.endRun('run 1');
    expect(await refusal(ask({ ...never, appProcess }))).toMatchObject(refused);
    expect(parts.temporaryPermissions.forEndpoint(endpoint, 0)).toEqual([]);
  });

  it('ends with its time, and is refused if the process runs another program', async () => {
    const { ask, question, parts, clock } = await rig();
    const appProcess = processNamed('run 1');
    const asked = ask({ appProcess });
    parts.approvalRequests.answer((await question('allow')).id, 'approve', { run: true, time: 30 * minute });
    await asked;
    clock.advance(30 * minute - 1);
    await ask({ ...never, appProcess });
    appProcess.nowIs = 'changed';
    expect(await refusal(ask({ ...never, appProcess }))).toMatchObject(refused);
    appProcess.nowIs = 'same';
    clock.advance(1);
    expect(await refusal(ask({ ...never, appProcess }))).toMatchObject(refused);
  });

  it('is ended by the owner, and by the owner’s next decision about the program', async () => {
    for (const end of ['end', 'deny'] as const) {
      const r = await rig();
      const appProcess = processNamed('run 1');
      const asked = r.ask({ appProcess });
      r.parts.approvalRequests.answer((await r.question('allow')).id, 'approve', { run: true });
      await asked;
      const { endpoint, clock } = r;
      if (end === 'end') expect(r.parts.temporaryPermissions.end('editor', endpoint)).toBe(true);
      else
        await r.broker.consent.decide({
          appId: 'editor',
          endpoint,
          decision: 'deny',
          createdAt: clock.now(),
        });
      const reason = end === 'end' ? 'consent_required' : 'consent_denied';
      expect(await refusal(r.ask({ ...never, appProcess }))).toMatchObject({ reason });
    }
  });
});

describe('an approval for once', () => {
  const once = { once: true } as const;

  it('gives the run that asked one token, and the next request raises a new question', async () => {
    const { ask, question, parts, texts } = await rig();
    const appProcess = processNamed('run 1');
    const asked = ask({ appProcess });
    parts.approvalRequests.answer((await question('allow')).id, 'approve', once);
    const token = await asked;
    expect(await refusal(ask({ ...never, appProcess }))).toMatchObject(refused);
    expect(texts().join('\n')).not.toContain('"decision"');
    const again = ask({ appProcess });
    parts.approvalRequests.answer((await question('allow')).id, 'approve', once);
    expect((await again).tokenId).toBe(token.tokenId);
    await parts.audit.flush();
    expect(texts().join('\n')).toContain('"allow once"');
  });

  it('serves no other request while its token is fetched', async () => {
    const { broker, ask, question, parts, person, endpoint } = await rig();
    person.isThere = false;
    const appProcess = processNamed('run 1');
    const gone = new AbortController();
    const asked = refusal(ask({ appProcess, signal: gone.signal }));
    parts.approvalRequests.answer((await question('allow')).id, 'approve', once);
    await question('signIn');
    expect(await refusal(ask({ ...never, appProcess: processNamed('run 2') }))).toMatchObject(refused);
    expect(parts.temporaryPermissions.of('editor', 0)).toMatchObject([{ once: true }]);
    gone.abort();
    await asked;
    broker.consent.endRun('run 1');
    expect(parts.temporaryPermissions.forEndpoint(endpoint, 0)).toEqual([]);
  });

  it('is used only for a request that no lasting permission covers', () => {
    const temporary = new TemporaryPermissions();
    const appProcess = processNamed('run 1');
    const permission = { appId: 'editor', endpoint: 'e', decision: 'allow', createdAt: 0 } as const;
    const forOnce = { ...permission, scope: ['a', 'b'] };
    temporary.set({ permission: forOnce, run: appProcess.currentFacts(), ...once });
    temporary.set({ permission, run: appProcess.currentFacts() });
    expect(temporary.find('editor', 'e', appProcess, 0)).toEqual([permission, forOnce]);
    temporary.used(permission, 'token 1');
    expect(temporary.find('editor', 'e', appProcess, 0)).toEqual([permission, forOnce]);
    temporary.used(forOnce, 'token 2');
    expect(temporary.find('editor', 'e', appProcess, 0)).toEqual([permission]);
  });

  it('is refused for a run that is over', async () => {
    const { ask, question, parts } = await rig();
    const gone = new AbortController();
    const appProcess = processNamed('run 1');
    const asked = refusal(ask({ appProcess, signal: gone.signal }));
    const { id } = await question('allow');
    appProcess.nowIs = 'gone';
    expect(() => parts.approvalRequests.answer(id, 'approve', once)).toThrow(
      expect.objectContaining({ reason: 'conflict' }),
    );
    gone.abort();
    await asked;
  });
});

describe('an approval for a time', () => {
  it('is a permission with an end, if there was none', async () => {
    const { ask, question, parts, endpoint, clock } = await rig();
    const scope = ['notes:read'];
    const asked = ask();
    parts.approvalRequests.answer((await question('allow')).id, 'approve', { time: minute, scope });
    expect((await asked).scope).toEqual(scope);
    expect(parts.permissions.find('editor', endpoint, clock.now())).toMatchObject({
      until: clock.now() + minute,
      scope,
    });
  });

  it('is kept beside a permission without an end, which stays as it is', async () => {
    const { ask, allow, question, parts, clock } = await rig();
    await allow('editor', ['notes:read']);
    const asked = ask({ scope: ['notes:write'] });
    parts.approvalRequests.answer((await question('allow')).id, 'approve', { time: minute });
    await asked;
    clock.advance(minute);
    expect(await refusal(ask({ ...never, scope: ['notes:write'] }))).toMatchObject(refused);
    expect((await ask(never)).scope).toEqual(['notes:read']);
  });
});

it('a process that runs another program by now voids its question', async () => {
  const { ask, question, parts, endpoint, clock, texts } = await rig();
  const appProcess = processNamed('run 1');
  const asked = refusal(ask({ appProcess }));
  const { id, question: card } = await question('allow');
  expect(card).toMatchObject({ appProcess: { executable: '/usr/bin/editor', parents: ['shell'] } });
  appProcess.nowIs = 'changed';
  expect(() => parts.approvalRequests.answer(id, 'approve')).toThrow(
    expect.objectContaining({ reason: 'conflict', message: expect.stringContaining('no longer the same') }),
  );
  expect(await asked).toMatchObject(refused);
  expect(parts.permissions.find('editor', endpoint, clock.now())).toBeUndefined();
  expect(parts.approvalRequests.list()).toEqual([]);
  await parts.audit.flush();
  expect(texts().join('\n')).toContain('"void"');
});

it('a broker that ends refuses what waits for the user, and begins nothing new', async () => {
  const { broker, ask, parts } = await rig();
  // Of two processes, which share no card.
  const asked = [ask(), ask({ appProcess: processNamed('run 1') })].map(refusal);
  await expect.poll(() => parts.approvalRequests.list()).toHaveLength(2);
  await broker.end();
  for (const one of asked) expect(await one).toMatchObject({ reason: 'broker_stopping', retryAfter: 1 });
  expect(parts.approvalRequests.list()).toEqual([]);
  expect(await refusal(ask({ appId: 'agent' }))).toMatchObject({ reason: 'broker_stopping' });
});
