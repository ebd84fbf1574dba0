/** The open cards, above whatever the main window shows. */
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import type { Questions } from '../base/views.ts';
import { Dialog } from '../parts/dialog.tsx';
import { sanitizeLabel } from '../base/untrusted-text.ts';
import { Icon } from '../parts/icon.tsx';
import { QuestionCard } from '../cards/question-card.tsx';
import { useList } from '../state/store.ts';
import { strings } from '../base/strings.ts';
import { askedParts, cardsOf } from '../../words/en/asked.ts';

export function OpenQuestions() {
  const { value } = useList('request.list');
  const [openId, open] = useState<string>();
  const cards = cardsOf(value?.requests ?? []);
  const shown = cards.find(({ id }) => id === openId);
  if (cards.length === 0) return null;
  return (
    <section class="waiting" aria-labelledby="waiting-title">
      <h2 id="waiting-title">
        <Icon name="ask" /> {strings.waiting.title}
      </h2>
      <ul>
        {cards.map(({ id, questions }) => (
          <li key={id}>
            <span class="untrusted">{summary(questions)}</span>
            <Button
              text={strings.waiting.answer}
              class="primary"
              label={`${strings.waiting.answer} ${summary(questions)}`}
              onPress={() => open(id)}
            />
          </li>
        ))}
      </ul>
      {shown && (
        <Dialog title={strings.waiting.dialog} onClose={() => open(undefined)}>
          <QuestionCard key={shown.id} questions={shown.questions} onDone={() => open(undefined)} />
        </Dialog>
      )}
    </section>
  );
}

const summary = (questions: Questions): string =>
  askedParts<never>(strings, questions, { name: sanitizeLabel, address: sanitizeLabel }).join('');
