/** The open cards, above whatever the main window shows. */
import { useState } from 'preact/hooks';
import { cardsOf, serverCount } from '../base/cards.ts';
import type { Questions } from '../base/cards.ts';
import { formatNumber } from '../base/format.ts';
import { Dialog } from '../parts/dialog.tsx';
import { sanitizeLabel } from '../base/untrusted-text.ts';
import { Icon } from '../parts/icon.tsx';
import { QuestionCard } from '../cards/question-card.tsx';
import { useList } from '../state/store.ts';
import { strings } from '../base/strings.ts';
import { askerKind } from '../../words/asker.ts';
import type { Question } from '../base/views.ts';

export function OpenQuestions() {
  const { value } = useList('interaction.list');
  const [openId, open] = useState<string>();
  const cards = cardsOf(value?.interactions ?? []);
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
            <button
              type="button"
              class="primary"
              aria-label={`${strings.waiting.answer} ${summary(questions)}`}
              onClick={() => open(id)}
            >
              {strings.waiting.answer}
            </button>
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

function summary(questions: Questions): string {
  const count = serverCount(questions);
  if (count === 1) return summaryOf(questions[0]);
  const { client = '' } = questions[0];
  const asker = { who: askerKind(client), program: sanitizeLabel(client) };
  return strings.waiting.allowSeveral({ ...asker, count: formatNumber(count) });
}

function summaryOf({ kind, client = '', resource = '', server: site = '', key }: Question): string {
  const server = sanitizeLabel(resource);
  const asker = { who: askerKind(client), program: sanitizeLabel(client) };
  switch (kind) {
    case 'allow':
      return strings.waiting[key ? 'key' : 'allow']({ ...asker, server });
    case 'pair':
      return strings.waiting.pair({ program: asker.program });
    case 'login':
      return strings.waiting.login({ server });
    case 'device':
      return strings.waiting.device({ server });
    case 'account':
      return strings.waiting.account({ server });
    case 'url':
      return strings.waiting.url({ server, site: sanitizeLabel(site) });
    case 'choice':
      return strings.waiting.choice({ ...asker, server });
    case 'settings':
      return strings.waiting.settings;
    case 'command':
      return strings.waiting.command;
  }
}
