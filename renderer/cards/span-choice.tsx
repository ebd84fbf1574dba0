/** For how long: a row of choices, and below it what the chosen one means. */
import type { Span } from './allowance.ts';
import { strings } from '../base/strings.ts';

const words = strings.card;

interface SpanChoiceProps {
  readonly spans: readonly Span[];
  readonly chosen: Span;
  /** Of the program that asks. */
  readonly pid: number | undefined;
  readonly onChoose: (span: Span) => void;
}

export function SpanChoice({ spans, chosen, pid, onChoose }: SpanChoiceProps) {
  const hint =
    chosen === 'run' && pid !== undefined ? words.spanHints.runOf(String(pid)) : words.spanHints[chosen];
  return (
    <fieldset aria-describedby="span-hint">
      <legend>{words.howLong}</legend>
      <div class="segments">
        {spans.map((span) => (
          <label key={span}>
            <input type="radio" name="span" checked={span === chosen} onChange={() => onChoose(span)} />
            <span>{words.spans[span]}</span>
          </label>
        ))}
      </div>
      <p class="dim small" id="span-hint" role="status">
        {hint}
      </p>
    </fieldset>
  );
}
