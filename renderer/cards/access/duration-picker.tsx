/** For how long: a row for each choice, with what it means. */
import { formatTime } from '../../base/format.ts';
import { hourLong } from './duration-choices.ts';
import type { DurationChoice } from './duration-choices.ts';
import { strings } from '../../base/strings.ts';
import { UntrustedText } from '../../parts/untrusted-text.tsx';
import { useNow } from '../../state/now.ts';

const words = strings.card;

interface DurationPickerProps {
  readonly durations: readonly DurationChoice[];
  readonly chosen: DurationChoice;
  /** The name of the app that asks. */
  readonly appName: string;
  readonly onChoose: (choice: DurationChoice) => void;
}

export function DurationPicker({ durations, chosen, appName, onChoose }: DurationPickerProps) {
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
