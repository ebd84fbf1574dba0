/** Questions end exactly once, and only a user's answer approves. */
import { describe, expect, it } from 'vitest';
import { ApprovalRequests, type Question } from '../../../src/broker/approval-requests/approval-requests.ts';
import type { Starter } from '../../../src/broker/approval-requests/starter.ts';
import { refusal } from '../rig.ts';

const question: Question = { kind: 'allow', appId: 'a', appName: 'A', endpoint: 'https://a.example' };
const never = new AbortController().signal;

function counting(): { requests: ApprovalRequests; changes: () => number } {
  let changes = 0;
  return {
    requests: new ApprovalRequests(
      () => 7,
      () => (changes += 1),
    ),
    changes: () => changes,
  };
}

describe('a question', () => {
  it('is listed while it is open; subscribers hear of its start and end', async () => {
    const { requests, changes } = counting();
    const asked = requests.ask(question, never);
    const [open] = requests.list();
    expect(open).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}$/),
      question,
      createdAt: 7,
      card: open?.id,
    });
    expect(requests.find(open?.id ?? '')).toMatchObject({ question });
    expect(changes()).toBe(1);
    requests.answer(open?.id ?? '', 'approve');
    expect((await asked).verdict).toBe('approve');
    expect(requests.list()).toEqual([]);
    expect(changes()).toBe(2);
  });

  it('accepts the first of two answers, and no other', async () => {
    const { requests } = counting();
    const asked = requests.ask(question, never);
    const id = requests.list()[0]?.id ?? '';
    requests.answer(id, 'deny');
    requests.answer(id, 'approve');
    expect((await asked).verdict).toBe('deny');
    expect(() => requests.answer(id, 'approve')).toThrow(expect.objectContaining({ reason: 'not_found' }));
  });

  it('no question is opened for a program that has already gone away', async () => {
    const { requests, changes } = counting();
    await refusal(requests.ask(question, AbortSignal.abort()));
    expect(changes()).toBe(0);
  });

  it('is refused, and does not stay open, if no window can be told', async () => {
    const told = (): never => {
      throw new Error('the desktop’s service is missing');
    };
    const requests = new ApprovalRequests(() => 0, told);
    expect(await refusal(requests.ask(question, never))).toBeInstanceOf(Error);
    expect(requests.list()).toEqual([]);
  });
});

describe('many questions', () => {
  const openMany = (requests: ApprovalRequests, count: number, of: (n: number) => Question) =>
    Array.from({ length: count }, (_, n) => requests.ask(of(n), never).catch((error: unknown) => error));

  const signIn = (starter?: Starter): Question => ({
    kind: 'signIn',
    registrationId: '0123456789abcdef',
    endpoint: '',
    issuer: '',
    url: '',
    paste: () => undefined,
    showsError: () => undefined,
    ...(starter === undefined ? {} : { starter }),
  });

  it('of all programs are bounded, but sign-ins go on', async () => {
    const { requests } = counting();
    void openMany(requests, 64, (n) => ({ ...question, appId: `${n}` }));
    expect(await refusal(requests.ask({ ...question, appId: 'late' }, never))).toMatchObject({
      reason: 'rate_limited',
    });
    void openMany(requests, 1, () => signIn());
    expect(requests.list()).toHaveLength(65);
  });

  it('about sign-ins of commands are bounded, and delay no other sign-in', async () => {
    const { requests } = counting();
    const late = { reason: 'rate_limited' };
    for (const connection of [1, 2, 3, 4]) {
      const mine = { by: 'command', connection } as const;
      void openMany(requests, 8, () => signIn(mine));
      expect(await refusal(requests.ask(signIn(mine), never))).toMatchObject(late);
    }
    expect(requests.list()).toHaveLength(32);
    const another = signIn({ by: 'command', connection: 5 });
    expect(await refusal(requests.ask(another, never))).toMatchObject(late);
    void openMany(requests, 1, () => signIn({ by: 'window' }));
    void openMany(requests, 1, () => signIn({ by: 'app' }));
    void openMany(requests, 1, () => question);
    expect(requests.list()).toHaveLength(35);
    // A cancelled one makes room.
    requests.answer(requests.list()[0]?.id ?? '', 'deny');
    await new Promise((resolve) => void setImmediate(resolve));
    void openMany(requests, 1, () => another);
    expect(requests.list()).toHaveLength(35);
  });
});
