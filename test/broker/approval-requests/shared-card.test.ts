/** Which questions stand on one card. */
import { describe, expect, it } from 'vitest';
import type { AppProcessView, ProcessState } from '../../../src/broker/approval-requests/app-process.ts';
import { ApprovalRequests, type Question } from '../../../src/broker/approval-requests/approval-requests.ts';

type AllowQuestion = Extract<Question, { readonly kind: 'allow' }>;

const never = new AbortController().signal;
const facts = { verified: true, pid: 7, executable: '/usr/bin/editor', parents: ['shell'] };

const run: AppProcessView = { run: 'run 1', ...facts, nowIs: () => 'same' };

/** A question about a server of its own, by the run `run 1`. */
function asked(server: string, changes: Partial<AllowQuestion> = {}): AllowQuestion {
  const endpoint = `https://${server}.example`;
  return { kind: 'allow', appId: 'a', appName: 'A', endpoint, appProcess: run, ...changes };
}

const appProcess = (changes: Partial<AppProcessView>) => ({ appProcess: { ...run, ...changes } });

/** Opens the questions in this order; answers the numbers of their cards, as the cards came up. */
function cardsOf(...questions: readonly Question[]): { approvalRequests: ApprovalRequests; cards: number[] } {
  const approvalRequests = new ApprovalRequests(
    () => 7,
    () => undefined,
  );
  for (const question of questions) approvalRequests.ask(question, never).catch(() => undefined);
  const cards = approvalRequests.list().map(({ card }) => card);
  const order = [...new Set(cards)];
  return { approvalRequests, cards: cards.map((card) => order.indexOf(card)) };
}

describe('a card', () => {
  it('shows what one run asks while it is open, under its first question’s name', () => {
    const { approvalRequests, cards } = cardsOf(asked('one'), asked('two'), asked('three'));
    expect(cards).toEqual([0, 0, 0]);
    expect(approvalRequests.list()[2]?.card).toBe(approvalRequests.list()[0]?.id);
  });

  it('keeps its name if its first question is answered elsewhere', () => {
    const { approvalRequests } = cardsOf(asked('one'), asked('two'));
    const [first] = approvalRequests.list();
    approvalRequests.answer(first?.id ?? '', 'deny');
    approvalRequests.ask(asked('three'), never).catch(() => undefined);
    const after = approvalRequests.list().filter(({ id }) => id !== first?.id);
    expect(after.map(({ card }) => card)).toEqual([first?.id, first?.id]);
  });

  it('shows five questions at most; the others have the next card', () => {
    const { cards } = cardsOf(...Array.from({ length: 8 }, (_, at) => asked(`server-${at}`)));
    expect(cards).toEqual([0, 0, 0, 0, 0, 1, 1, 1]);
  });

  const apart: Record<string, Partial<AllowQuestion>> = {
    'of another run of the program': appProcess({ run: 'run 2' }),
    'of another program by the same name': { appId: 'b' },
    'of a process that now runs another file': appProcess({ executable: '/tmp/editor' }),
    'of a process that now claims other things': appProcess({ claim: { arguments: ['x'], isCut: false } }),
    'of a process that the system does not tell': appProcess({ run: 'connection 1', verified: false }),
    'of a proxy’s address': { proxied: true },
  };
  it.each(Object.entries(apart))('shows no question %s', (_which, changes) => {
    expect(cardsOf(asked('one'), asked('two', changes), asked('three')).cards).toEqual([0, 1, 0]);
  });

  it('takes no more questions once the process that asked runs another file', () => {
    let standing: ProcessState = 'same';
    const first = asked('one', appProcess({ nowIs: () => standing }));
    const { approvalRequests } = cardsOf(first);
    standing = 'changed';
    approvalRequests.ask(asked('two'), never).catch(() => undefined);
    expect(new Set(approvalRequests.list().map(({ card }) => card)).size).toBe(2);
  });

  it('is never shared with a question of another kind', () => {
    const pairing: Question = { kind: 'pair', appName: 'A', code: '123456', ...appProcess({}) };
    const page: Question = { ...asked('two'), kind: 'url', url: 'https://two.example/', message: '' };
    expect(cardsOf(asked('one'), pairing, page, page).cards).toEqual([0, 1, 2, 3]);
  });
});
