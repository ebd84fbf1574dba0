/** The card's window: one card at a time, the named one or the oldest. */
import { useEffect } from 'preact/hooks';
import { announce } from './state/announcement.ts';
import { Empty, ListFrame } from './lists/list-frame.tsx';
import { QuestionCard } from './cards/question-card.tsx';
import { useList } from './state/store.ts';
import { useWindowFit } from './state/window-fit.ts';
import { strings } from './base/strings.ts';
import { cardsOf } from '../words/en/asked.ts';
import { formatNumber } from './base/format.ts';

export function CardWindow({ id }: { readonly id?: string }) {
  const loaded = useList('request.list');
  const cards = cardsOf(loaded.value?.requests ?? []);
  const card = cards.find((open) => open.id === id) ?? cards[0];
  const shownId = card?.id;
  // What was said of the last answer must not lie over the buttons of the next question.
  useEffect(() => {
    if (shownId !== undefined) announce('');
  }, [shownId]);
  const holder = useWindowFit(shownId);
  return (
    <main class="card-window" tabIndex={-1} ref={holder}>
      <h1 class="visually-hidden">{strings.waiting.dialog}</h1>
      <h2 class="visually-hidden">{strings.waiting.title}</h2>
      {card && cards.length > 1 && (
        <p class="dim small position">
          {strings.card.position({
            at: formatNumber(cards.indexOf(card) + 1),
            of: formatNumber(cards.length),
          })}
        </p>
      )}
      {/* Keyed: a card that takes another's place starts its half second again. */}
      {card && <QuestionCard key={card.id} questions={card.questions} onDone={() => undefined} />}
      <ListFrame loaded={loaded}>
        {card === undefined && <Empty title={strings.waiting.none} text={strings.waiting.noneHint} />}
      </ListFrame>
    </main>
  );
}
