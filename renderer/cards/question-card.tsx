/** The card of a question, or of several of one run: which card stands for which kind. */
import { AccessCard } from './access/access-card.tsx';
import { AccountCard } from './account-card.tsx';
import { ChoiceCard } from './choice-card.tsx';
import { CommandCard } from './command-card.tsx';
import type { Questions } from '../base/cards.ts';
import { OnCard } from '../parts/untrusted-text.tsx';
import { PairCard } from './pair-card.tsx';
import { SettingsCard } from './settings-card.tsx';
import { SignInCard } from './sign-in-card.tsx';
import { UrlCard } from './url-card.tsx';

interface QuestionCardProps {
  /** Of one card. */
  readonly questions: Questions;
  readonly onDone: () => void;
}

export function QuestionCard(props: QuestionCardProps) {
  return (
    <OnCard.Provider value={true}>
      <CardByKind {...props} />
    </OnCard.Provider>
  );
}

function CardByKind({ questions, onDone }: QuestionCardProps) {
  const [question] = questions;
  switch (question.kind) {
    case 'signIn':
    case 'device':
      return <SignInCard question={question} onDone={onDone} />;
    case 'command':
      return <CommandCard question={question} onDone={onDone} />;
    case 'account':
      return <AccountCard question={question} onDone={onDone} />;
    case 'url':
      return <UrlCard question={question} onDone={onDone} />;
    case 'choice':
      return <ChoiceCard question={question} onDone={onDone} />;
    case 'settings':
      return <SettingsCard question={question} onDone={onDone} />;
    case 'pair':
      return <PairCard question={question} onDone={onDone} />;
    case 'allow':
      return <AccessCard questions={questions} onDone={onDone} />;
  }
}
