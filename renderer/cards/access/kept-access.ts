/**
 * What the user ticks on the card of an app: servers, and scopes at each of them.
 *
 * Invariants: an approval gives what is ticked, and nothing else. A server without its tick is put off: nothing is
 * remembered of it. What is asked again, or otherwise, is ticked as a whole: of that nothing was said yet.
 */
import { useState } from 'preact/hooks';
import { scopeNames } from '../../base/scopes.ts';
import { durationParams, type ServerContext, type DurationChoice } from './access-context.ts';
import type { AnswerParams } from '../base/consent-form.tsx';
import { strings } from '../../base/strings.ts';
import type { Question } from '../../base/views.ts';

/** Of one question. */
interface Ticks {
  /** The server is ticked. */
  readonly isIncluded: boolean;
  /** The scopes that are ticked. */
  readonly kept: readonly string[];
}

export interface KeptAccess {
  of(question: Question): Ticks;
  tick(question: Question, changes: Partial<Ticks>): void;
}

export function useKeptAccess(): KeptAccess {
  const [ticked, set] = useState<ReadonlyMap<string, Ticks & Pick<Question, 'scope'>>>(new Map());
  const of = ({ id, scope }: Question): Ticks => {
    const ticks = ticked.get(id);
    return ticks && ticks.scope === scope ? ticks : { isIncluded: true, kept: scopeNames(scope) };
  };
  return {
    of,
    tick: (question, changes) =>
      set(
        (before) =>
          new Map([...before, [question.id, { ...of(question), ...changes, scope: question.scope }]]),
      ),
  };
}

/** Why nothing can be allowed with these ticks; undefined if it can. */
export function obstacleOf(questions: readonly Question[], kept: KeptAccess): string | undefined {
  const included = questions.filter((question) => kept.of(question).isIncluded);
  if (included.length === 0) return strings.card.noServerKept;
  const isEmpty = (question: Question): boolean =>
    scopeNames(question.scope).length > 0 && kept.of(question).kept.length === 0;
  return included.some(isEmpty) ? strings.card.noneKept : undefined;
}

/**
 * The answer to each question. Those that are put off come last, so that the app doesn't ask for them again at once: an
 * approval ends its wait. Undefined where the choice of time means nothing.
 */
export function approvalsOf(
  requests: readonly { readonly question: Question; readonly context: ServerContext | undefined }[],
  kept: KeptAccess,
  chosen: DurationChoice,
): readonly AnswerParams[] | undefined {
  const [allowed, putOff]: [AnswerParams[], AnswerParams[]] = [[], []];
  for (const { question, context } of requests) {
    const { id, scope } = question;
    const ticks = kept.of(question);
    const duration = durationParams(chosen, context?.permission);
    if (duration === undefined) return undefined;
    const isReduced = ticks.kept.length < scopeNames(scope).length;
    if (!ticks.isIncluded) putOff.push({ id, answer: 'dismiss' });
    else
      allowed.push({
        id,
        answer: 'approve',
        ...duration,
        ...(isReduced ? { scope: ticks.kept.join(' ') } : {}),
      });
  }
  return [...allowed, ...putOff];
}
