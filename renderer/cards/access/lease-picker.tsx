/** For how long: a row of choices, and below it what the chosen one means. */
import { formatTime } from '../../base/format.ts';
import { hourLong } from './lease-choices.ts';
import type { LeaseChoice } from './lease-choices.ts';
import { strings } from '../../base/strings.ts';
import { useNow } from '../../state/now.ts';

const words = strings.card;

interface LeasePickerProps {
  readonly leases: readonly LeaseChoice[];
  readonly chosen: LeaseChoice;
  /** Of the program that asks. */
  readonly pid: number | undefined;
  readonly onChoose: (choice: LeaseChoice) => void;
}

export function LeasePicker({ leases, chosen, pid, onChoose }: LeasePickerProps) {
  // To the minute, so that the card stays as it is for as long.
  const end = useNow((now) => Math.ceil((now + hourLong) / 60) * 60);
  const hint =
    chosen === 'run' && pid !== undefined
      ? words.leaseHints.runOf({ pid: String(pid) })
      : words.leaseHints[chosen];
  return (
    <fieldset aria-describedby="lease-hint">
      <legend>{words.howLong}</legend>
      <div class="segments">
        {leases.map((choice) => (
          <label key={choice}>
            <input type="radio" name="lease" checked={choice === chosen} onChange={() => onChoose(choice)} />
            <span>{words.leases[choice]}</span>
          </label>
        ))}
      </div>
      <p class="dim small" id="lease-hint" role="status">
        {chosen === 'hour' && `${words.until({ time: formatTime(end) })} `}
        {hint}
      </p>
    </fieldset>
  );
}
