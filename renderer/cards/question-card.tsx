/** The card of one question: which card stands for which kind. */
import { AccessCard } from './access-card.tsx';
import { AccountCard, ChoiceCard } from './account-card.tsx';
import { CommandCard } from './command-card.tsx';
import type { CardProps } from './consent-form.tsx';
import { OnCard } from '../parts/untrusted-text.tsx';
import { PairCard } from './pair-card.tsx';
import { SettingsCard } from './settings-card.tsx';
import { SignInCard } from './sign-in-card.tsx';
import { UrlCard } from './url-card.tsx';

export function QuestionCard(props: CardProps) {
  return (
    <OnCard.Provider value={true}>
      <CardByKind {...props} />
    </OnCard.Provider>
  );
}

function CardByKind({ question, onDone }: CardProps) {
  switch (question.kind) {
    case 'login':
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
      return <AccessCard question={question} onDone={onDone} />;
  }
}
