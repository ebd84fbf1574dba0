/**
 * The card about settings that were written outside Keyturn: each with its value, and what counts until an approval. At the
 * app's first use of a home it also shows what the home allows.
 *
 * Invariant: every setting that an approval would confirm is on the card, with the value as the broker names it.
 */
import { QuestionForm, type CardProps } from './base/consent-form.tsx';
import { Fact, Facts, maxPathLength } from '../parts/facts.tsx';
import { UntrustedText } from '../parts/untrusted-text.tsx';
import { formatNumber, formatSetting } from '../base/format.ts';
import { Notice } from '../parts/notice.tsx';
import { strings } from '../base/strings.ts';
import type { Question } from '../base/views.ts';

const words = strings.unapproved;

type SettingChange = NonNullable<Question['settings']>[number];

export function SettingsCard({ question, onDone }: CardProps) {
  const { settings = [], allowed = [] } = question;
  if (allowed.length > 0) return <FirstUseCard question={question} onDone={onDone} />;
  return (
    <QuestionForm question={question} onDone={onDone} words={words}>
      <div class="parties">
        <UnconfirmedFacts settings={settings} />
      </div>
      <Notice kind="warn">
        <p>{words.what}</p>
        <p>{words.danger}</p>
      </Notice>
    </QuestionForm>
  );
}

/** At the app's first use of a home. Refusing, the default, removes what the home allows. */
function FirstUseCard({ question, onDone }: CardProps) {
  const { settings = [], allowed = [] } = question;
  const first = strings.firstUse;
  return (
    <QuestionForm question={question} onDone={onDone} words={first} refusal="deny">
      <p>{first.what}</p>
      <div class="parties">
        <Facts>
          {allowed.map(({ what, count, lines }) => (
            <Fact key={what} name={`${first.groups[what]} (${count})`}>
              {lines.map((line) => (
                <p key={line}>
                  <UntrustedText text={line} bound={maxPathLength} />
                </p>
              ))}
              {count > lines.length && (
                <p class="dim small">{first.more({ count: formatNumber(count - lines.length) })}</p>
              )}
            </Fact>
          ))}
        </Facts>
        <UnconfirmedFacts settings={settings} />
      </div>
      <Notice kind="warn">
        <p>{first.danger}</p>
      </Notice>
    </QuestionForm>
  );
}

/** Each with what was written, and what counts. */
export function UnconfirmedFacts({ settings }: { readonly settings: readonly SettingChange[] }) {
  return (
    <Facts>
      {settings.map(({ name, value, inEffect, isContent }) => (
        <Fact key={name} name={name}>
          <Text of={value} />
          <p class="dim small">
            {isContent === true ? words.content : words.counts}
            {isContent !== true && (
              <>
                {' '}
                <Text of={inEffect} />
              </>
            )}
          </p>
        </Fact>
      ))}
    </Facts>
  );
}

function Text({ of }: { readonly of: SettingChange['value'] }) {
  if (of === undefined || of === null) return <>{words.unset}</>;
  return <UntrustedText text={formatSetting(of)} bound={maxPathLength} />;
}
