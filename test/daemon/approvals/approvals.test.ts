/** The user's answer to a command: who gives it, how long the command waits, and how often one may ask. */
import { describe, expect, it } from 'vitest';
import type { ProcessState } from '../../../src/broker/approval-requests/app-process.ts';
import { questionTimeout } from '../../../src/broker/approval-requests/approval-requests.ts';
import type { Caller } from '../../../src/ipc/server/server.ts';
import { nowhere } from '../../broker/nowhere.ts';
import { brokerRig, refusal, turnOfEvents } from '../../broker/rig.ts';
import { approvalsAt } from './rig.ts';

async function rig() {
  const { broker, parts, clock, texts, question } = await brokerRig(nowhere);
  const appProcess = { standing: 'same' as ProcessState };
  const approvals = approvalsAt(broker, () => appProcess.standing);
  const command = () => {
    const gone = new AbortController();
    const caller = { signal: gone.signal } as Caller;
    const approved = approvals.require(caller, 'settings.set', { name: 'logLevel', value: 'debug' });
    approved.catch(() => undefined);
    return { approved, leave: () => gone.abort() };
  };
  const answer = async (word: 'approve' | 'deny' | 'dismiss'): Promise<void> =>
    void parts.approvalRequests.answer((await question('command')).id, word);
  return { approvals, parts, clock, texts, appProcess, command, answer, question };
}

it('a private host that is confirmed is shown on the card without port or path', async () => {
  const { approvals, question } = await rig();
  const gone = new AbortController();
  const caller = { signal: gone.signal } as Caller;
  const params = { server: 'https://TOOLS.intern.example.:8443/mcp', name: 'private-address' };
  const approved = approvals.require(caller, 'exception.set', { ...params, on: true });
  approved.catch(() => undefined);
  expect((await question('command')).question).toMatchObject({
    request: { command: 'exception', server: 'https://tools.intern.example', exception: 'private-address' },
  });
  gone.abort();
  await approvals.require(caller, 'exception.set', { ...params, on: false });
});

it.each([
  ['is no question where it is less', { scope: ['read', 'write'] }, { scope: 'read' }, false],
  ['is one where it is more', { scope: ['read'] }, { scope: 'read write' }, true],
  ['is one where what stands is refused', { decision: 'deny' as const }, {}, true],
])('a permission that is set again %s', async (_what, before, change, isAsked) => {
  const { approvals, parts } = await rig();
  const { endpoint } = nowhere;
  await parts.permissions.set({ appId: 'cli', endpoint, decision: 'allow', createdAt: 0, ...before });
  const gone = new AbortController();
  const asked = { app: 'cli', resource: endpoint, decision: 'allow', ...change };
  const approved = approvals.require({ signal: gone.signal } as Caller, 'permission.set', asked);
  approved.catch(() => undefined);
  expect(parts.approvalRequests.list()).toHaveLength(isAsked ? 1 : 0);
  gone.abort();
});

const late = { reason: 'rate_limited' };
const denied = { reason: 'consent_denied' };

describe('a command’s card', () => {
  it('is void if another program runs by now in the process that asked', async () => {
    const { command, parts, question, appProcess, texts } = await rig();
    const { approved } = command();
    const { id } = await question('command');
    appProcess.standing = 'changed';
    expect(() => parts.approvalRequests.answer(id, 'approve')).toThrow(
      'The process that ran the command is no longer the same program',
    );
    expect(await refusal(approved)).toMatchObject(denied);
    await parts.audit.flush();
    expect(texts().join()).toContain('settings: void');
  });

  it('is refused and closed when its time is over', async () => {
    const { command, clock, parts, question } = await rig();
    const { approved } = command();
    await question('command');
    clock.advance(questionTimeout - 1);
    await turnOfEvents();
    expect(parts.approvalRequests.list().length).toBe(1);
    clock.advance(1);
    expect(await refusal(approved)).toMatchObject(denied);
    expect(parts.approvalRequests.list()).toEqual([]);
  });

  it('leaves room for the cards of programs, even if many commands ask', async () => {
    const { command, parts } = await rig();
    const asked = Array.from({ length: 9 }, command);
    expect(await refusal(asked[8]?.approved ?? Promise.resolve())).toMatchObject(late);
    expect(parts.approvalRequests.list().length).toBe(8);
    const pairing = { kind: 'pair', appName: 'editor', code: '123456' } as const;
    parts.approvalRequests.ask(pairing, new AbortController().signal).catch(() => undefined);
    expect(parts.approvalRequests.list().length).toBe(9);
  });

  it('comes again after a pause that grows with each refusal', async () => {
    const { command, clock, answer } = await rig();
    for (const longest of [1000, 2000, 4000]) {
      const { approved } = command();
      await answer('deny');
      expect(await refusal(approved)).toMatchObject(denied);
      expect(await refusal(command().approved)).toMatchObject(late);
      // At least three quarters of it: the rest is left to chance.
      clock.advance(longest * 0.75 - 1);
      expect(await refusal(command().approved)).toMatchObject(late);
      clock.advance(longest * 0.25 + 1);
    }
    const { approved } = command();
    await answer('approve');
    await approved;
    const next = command();
    await answer('deny');
    await refusal(next.approved);
    clock.advance(1000);
    const last = command();
    await answer('approve');
    await last.approved;
  });
});
