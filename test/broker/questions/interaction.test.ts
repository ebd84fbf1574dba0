/** Questions end exactly once, and only a person's answer says yes. */
import { describe, expect, it } from 'vitest';
import { Interactions, type Question } from '../../../src/broker/questions/interaction.ts';
import type { Starter } from '../../../src/broker/questions/starter.ts';
import { refusal } from '../rig.ts';

const question: Question = { kind: 'allow', appId: 'a', appName: 'A', endpoint: 'https://a.example' };
const never = new AbortController().signal;

function counting(): { interactions: Interactions; changes: () => number } {
  let changes = 0;
  return {
    interactions: new Interactions(
      () => 7,
      () => (changes += 1),
    ),
    changes: () => changes,
  };
}

describe('a question', () => {
  it('is listed while it is open; subscribers hear of its start and end', async () => {
    const { interactions, changes } = counting();
    const asked = interactions.ask(question, never);
    const [open] = interactions.list();
    expect(open).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}$/),
      question,
      createdAt: 7,
      card: open?.id,
    });
    expect(interactions.find(open?.id ?? '')).toMatchObject({ question });
    expect(changes()).toBe(1);
    interactions.answer(open?.id ?? '', 'yes');
    expect(await asked).toBe('yes');
    expect(interactions.list()).toEqual([]);
    expect(changes()).toBe(2);
  });

  it('accepts the first of two answers, and no other', async () => {
    const { interactions } = counting();
    const asked = interactions.ask(question, never);
    const id = interactions.list()[0]?.id ?? '';
    interactions.answer(id, 'no');
    interactions.answer(id, 'yes');
    expect(await asked).toBe('no');
    expect(() => interactions.answer(id, 'yes')).toThrow(expect.objectContaining({ reason: 'not_found' }));
  });

  it('no question is opened for a program that has already gone away', async () => {
    const { interactions, changes } = counting();
    await refusal(interactions.ask(question, AbortSignal.abort()));
    expect(changes()).toBe(0);
  });

  it('is refused, and does not stay open, if no window can be told', async () => {
    const told = (): never => {
      throw new Error('the desktop’s service is missing');
    };
    const interactions = new Interactions(() => 0, told);
    expect(await refusal(interactions.ask(question, never))).toBeInstanceOf(Error);
    expect(interactions.list()).toEqual([]);
  });
});

describe('many questions', () => {
  const openMany = (
    interactions: Interactions,
    count: number,
    of: (n: number) => Question,
  ): Promise<unknown>[] =>
    Array.from({ length: count }, (_, n) => interactions.ask(of(n), never).catch((error: unknown) => error));

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
    const { interactions } = counting();
    void openMany(interactions, 64, (n) => ({ ...question, appId: `${n}` }));
    expect(await refusal(interactions.ask({ ...question, appId: 'late' }, never))).toMatchObject({
      reason: 'rate_limited',
    });
    void openMany(interactions, 1, () => signIn());
    expect(interactions.list()).toHaveLength(65);
  });

  it('about sign-ins of commands are bounded, and delay no other sign-in', async () => {
    const { interactions } = counting();
    const late = { reason: 'rate_limited' };
    for (const connection of [1, 2, 3, 4]) {
      const mine = { by: 'command', connection } as const;
      void openMany(interactions, 8, () => signIn(mine));
      expect(await refusal(interactions.ask(signIn(mine), never))).toMatchObject(late);
    }
    expect(interactions.list()).toHaveLength(32);
    const another = signIn({ by: 'command', connection: 5 });
    expect(await refusal(interactions.ask(another, never))).toMatchObject(late);
    void openMany(interactions, 1, () => signIn({ by: 'window' }));
    void openMany(interactions, 1, () => signIn({ by: 'app' }));
    void openMany(interactions, 1, () => question);
    expect(interactions.list()).toHaveLength(35);
    // A cancelled one makes room.
    interactions.answer(interactions.list()[0]?.id ?? '', 'no');
    await new Promise((resolve) => void setImmediate(resolve));
    void openMany(interactions, 1, () => another);
    expect(interactions.list()).toHaveLength(35);
  });
});
