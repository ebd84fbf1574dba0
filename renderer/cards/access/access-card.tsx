/**
 * The card of an app that asks for access: who asks, for which servers and scopes, and for how long.
 *
 * Invariant: every word of the app or the server is shown as untrusted text.
 */
import { useState } from 'preact/hooks';
import { serverCount } from '../../../words/en/asked.ts';
import { formatNumber, formatTime } from '../../base/format.ts';
import { scopeNames } from '../../base/scopes.ts';
import { strings } from '../../base/strings.ts';
import { sanitizeLabel, sanitizeSentence } from '../../base/untrusted-text.ts';
import type { Question, Questions, Refusal } from '../../base/views.ts';
import { useAccessContext, hourLong } from './access-context.ts';
import type { AccessContext, ServerContext, DurationChoice } from './access-context.ts';
import { approvalsOf, obstacleOf, useKeptAccess } from './kept-access.ts';
import type { KeptAccess } from './kept-access.ts';
import { OneOfSeveral, OnlyServer } from './server-request.tsx';
import { ConsentForm } from '../base/consent-form.tsx';
import type { ConsentWords } from '../base/consent-form.tsx';
import { RequestingApp } from '../base/requesting-app.tsx';
import { Notice, Refused } from '../../parts/notice.tsx';
import { GuessNote } from '../../parts/scopes.tsx';
import { UntrustedText, Host } from '../../parts/untrusted-text.tsx';
import { announce } from '../../state/announcement.ts';
import { useNow } from '../../state/now.ts';
import { call, rereadAll } from '../../state/store.ts';
import { appKind, commandName } from '../../../words/app-kind.ts';

const words = strings.card;

interface AccessCardProps {
  /** Of one run of the app. */
  readonly questions: Questions;
  readonly onDone: () => void;
}

export function AccessCard({ questions, onDone }: AccessCardProps) {
  const { context, refusal } = useAccessContext(questions);
  const pairedApp = context?.pairedApp;
  const content = context && JSON.stringify([questions, context]);
  // A choice was made among what the card said then; of anything else it says nothing.
  const [wanted, choose] = useState<{
    readonly choice: DurationChoice;
    readonly content: string | undefined;
  }>();
  const chosen =
    wanted !== undefined && wanted.content === content ? wanted.choice : (context?.first ?? 'hour');
  const kept = useKeptAccess();
  const requests = requestsOf(questions, context);
  const isFirstAccess = requests.every((request) => request.context?.permission === undefined);
  return (
    <ConsentForm
      ids={questions.map(({ id }) => id)}
      onDone={onDone}
      words={wordsFor(questions)}
      content={content}
      approvals={() => approvalsOf(requests, kept, chosen)}
      obstacle={obstacleOf(questions, kept)}
      // With a permission from before it would end that too.
      undo={pairedApp && isFirstAccess ? () => undoDenials(questions, pairedApp.appId) : undefined}
    >
      <div class="parties">
        <RequestingApp
          question={questions[0]}
          note={questions[0].app === commandName ? strings.apps.cli : words.ownName}
          paired={pairedApp}
          isRead={context !== undefined}
        />
        <Servers requests={requests} kept={kept} />
      </div>
      {questions.length > 1 && <GuessNote names={questions.flatMap(({ scope }) => scopeNames(scope))} />}
      <Warnings questions={questions} />
      {context && (
        <DurationPicker
          durations={context.durations}
          chosen={chosen}
          appName={questions[0].app ?? ''}
          onChoose={(choice) => choose({ choice, content })}
        />
      )}
      <Refused refusal={refusal} />
    </ConsentForm>
  );
}

/** A question, and what is to be known of its server once the lists were read. */
interface Request {
  readonly question: Question;
  readonly context: ServerContext | undefined;
}

type Requests = readonly [Request, ...Request[]];

function requestsOf([first, ...others]: Questions, context: AccessContext | undefined): Requests {
  return [
    { question: first, context: context?.servers[0] },
    ...others.map((question, at) => ({ question, context: context?.servers[at + 1] })),
  ];
}

/** One server, or several with a tick for each. */
function Servers({ requests, kept }: { readonly requests: Requests; readonly kept: KeptAccess }) {
  const [only, ...others] = requests;
  if (others.length === 0) {
    const onKeep = (scopes: readonly string[]): void => kept.tick(only.question, { kept: scopes });
    return <OnlyServer {...only} kept={kept.of(only.question).kept} onKeep={onKeep} />;
  }
  return requests.map(({ question, context }) => (
    <OneOfSeveral
      key={question.id}
      question={question}
      context={context}
      {...kept.of(question)}
      onKeep={(scopes) => kept.tick(question, { kept: scopes })}
      onInclude={(isIncluded) => kept.tick(question, { isIncluded })}
    />
  ));
}

/** What an approval means here beyond the scopes. */
function Warnings({ questions }: Pick<AccessCardProps, 'questions'>) {
  const [{ app: name }] = questions;
  const hasKey = questions.some(({ apiKey: key }) => key);
  const hasToken = questions.some(({ apiKey: key }) => !key);
  return (
    <>
      {hasKey && <Notice kind="warn">{words.keyWhat}</Notice>}
      {name === commandName && hasToken && <Notice kind="warn">{words.cliWarning}</Notice>}
      {name === commandName && hasKey && <Notice kind="warn">{words.cliKeyWarning}</Notice>}
    </>
  );
}

async function undoDenials(questions: Questions, appId: string): Promise<void> {
  const [{ app: name = '', resource: firstResource = '' }] = questions;
  const app = sanitizeLabel(name);
  // Two questions about one server were denied together.
  const denied = new Map(
    questions.map((one) => [JSON.stringify([one.resource, one.apiKey !== undefined]), one]),
  );
  const undone =
    denied.size > 1
      ? words.undoneSeveral({ app })
      : strings.apps.undone({ app, server: sanitizeLabel(firstResource) });
  const refusals: Refusal[] = [];
  for (const { resource = '', apiKey: key } of denied.values()) {
    const method = key ? 'apiKey.permission.revoke' : 'permission.revoke';
    const answer = await call(method, { app: appId, resource });
    if (!answer.ok) refusals.push(answer.refusal);
  }
  announce(refusals[0] ? sanitizeSentence(refusals[0].message) : undone);
  rereadAll();
}

/** Characters of a name in the title; the whole one is below. */
const maxTitleName = 40;

/** The question in one sentence. The name is the app's own choice, which is below it. */
function Title({ questions }: Pick<AccessCardProps, 'questions'>) {
  const [{ app: name = '', resource = '', apiKey: key }] = questions;
  const app = <UntrustedText text={name} bound={maxTitleName} />;
  const who = appKind(name);
  const count = serverCount(questions);
  const parts =
    count > 1
      ? words.titleSeveral.parts({ who, app, count: <>{formatNumber(count)}</> })
      : words[key ? 'titleKey' : 'titleAllow'].parts({
          who,
          app,
          server: <Host url={resource} bound={maxTitleName} />,
        });
  return <>{parts}</>;
}

function wordsFor(questions: Questions): ConsentWords {
  const [{ app: name = '', apiKey: key }] = questions;
  const named = { who: appKind(name), app: sanitizeLabel(name) };
  const isSeveral = serverCount(questions) > 1;
  return {
    title: <Title questions={questions} />,
    ...(questions.length > 1 ? { help: words.helpSeveral } : {}),
    confirm: words.allow,
    remembered: words.remembered,
    answered: {
      approve: key && !isSeveral ? words.keyGiven(named) : words.allowed(named),
      deny: words[isSeveral ? 'deniedAlwaysSeveral' : 'deniedAlways'](named),
      dismiss: words.refused(named),
    },
  };
}

interface DurationPickerProps {
  readonly durations: readonly DurationChoice[];
  readonly chosen: DurationChoice;
  /** The name of the app that asks. */
  readonly appName: string;
  readonly onChoose: (choice: DurationChoice) => void;
}

function DurationPicker({ durations, chosen, appName, onChoose }: DurationPickerProps) {
  // To the minute, so that the card stays as it is for as long.
  const end = useNow((now) => Math.ceil((now + hourLong) / 60) * 60);
  return (
    <fieldset class="durations">
      <legend>{words.howLong}</legend>
      {durations.map((choice) => (
        <label key={choice}>
          <input type="radio" name="duration" checked={choice === chosen} onChange={() => onChoose(choice)} />
          <span>
            {choice === 'run'
              ? words.runOf.parts({ app: <UntrustedText text={appName} /> })
              : words.durations[choice]}
          </span>
          <span class="dim small">
            {choice === 'hour' && words.until({ time: formatTime(end) })}
            {choice === 'once' && words.asksAgain}
          </span>
        </label>
      ))}
      <p class="dim small">{words.endsEarlier}</p>
    </fieldset>
  );
}
