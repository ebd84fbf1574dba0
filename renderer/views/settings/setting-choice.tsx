/** A setting of the broker's that is chosen from a list; says when a change counts. */
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { Choice, type Option } from '../../parts/field.tsx';
import { Refused } from '../../parts/notice.tsx';
import { strings } from '../../base/strings.ts';
import type { SettableName, SettingDetail, SettingValue } from '../../base/views.ts';

const words = strings.settings;

interface SettingChoiceProps {
  readonly name: SettableName;
  readonly details: readonly SettingDetail[];
  readonly label: string;
  readonly hint: string;
  readonly options: readonly Option[];
  /** The value on the wire of an option. */
  readonly valueOf: (option: string) => SettingValue;
}

export function SettingChoice({ name, details, label, hint, options, valueOf }: SettingChoiceProps) {
  const action = useAction();
  const detail = details.find((each) => each.name === name);
  if (detail === undefined) return null;
  const { value } = detail;
  const choose = async (option: string): Promise<void> => {
    const done = await action.run('settings.set', { name, value: valueOf(option) });
    if (done) announce(savedWords(done.inForce));
  };
  const shown = value === undefined || value === null ? '' : String(value);
  const isListed = options.some((option) => option.value === shown);
  return (
    <>
      <Choice
        isRow
        label={label}
        hint={hint}
        mark={<NextStart isLive={detail.appliesImmediately} />}
        value={shown}
        // One that was set elsewhere stays what it is until another is chosen.
        options={isListed ? options : [...options, { value: shown, label: shown }]}
        onChoose={(option) => void choose(option)}
      />
      <Refused refusal={action.refusal} />
    </>
  );
}

export const savedWords = (inForce: 'now' | 'nextStart'): string =>
  inForce === 'now' ? words.saved : words.savedLater;

export function NextStart({ isLive }: { readonly isLive: boolean }) {
  if (isLive) return null;
  return (
    <span class="tag" title={words.nextStartWhat}>
      {words.nextStart}
    </span>
  );
}
