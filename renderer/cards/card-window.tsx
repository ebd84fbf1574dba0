/** The card's window: one question at a time, the named one or the oldest. */
import { useEffect } from 'preact/hooks';
import { announce } from '../state/announcement.ts';
import { Empty, ListFrame } from '../lists/list-frame.tsx';
import { QuestionCard } from './question-card.tsx';
import { useList } from '../state/store.ts';
import { useWindowFit } from '../state/window-fit.ts';
import { strings } from '../base/strings.ts';
import { formatNumber } from '../base/format.ts';
import type { Question } from '../base/views.ts';

export function CardWindow({ id }: { readonly id?: string }) {
  const loaded = useList('interaction.list');
  const questions: readonly Question[] = loaded.value?.interactions ?? [];
  const question = questions.find((open) => id === undefined || open.id === id);
  const shownId = question?.id;
  // What was said of the last answer must not lie over the buttons of the next question.
  useEffect(() => {
    if (shownId !== undefined) announce('');
  }, [shownId]);
  const holder = useWindowFit(shownId);
  return (
    <main class="card-window" tabIndex={-1} ref={holder}>
      <h1 class="visually-hidden">{strings.waiting.dialog}</h1>
      <h2 class="visually-hidden">{strings.waiting.title}</h2>
      {question && questions.length > 1 && (
        <p class="dim small position">
          {strings.card.position({
            at: formatNumber(questions.indexOf(question) + 1),
            of: formatNumber(questions.length),
          })}
        </p>
      )}
      {/* Keyed: a card that takes another's place starts its half second anew. */}
      {question && <QuestionCard key={question.id} question={question} onDone={() => undefined} />}
      <ListFrame loaded={loaded} isEmpty={false} emptyTitle="" empty="">
        {question === undefined && <Empty title={strings.waiting.none} text={strings.waiting.noneHint} />}
      </ListFrame>
    </main>
  );
}
