/** Above every view: that all access is paused, until when, and the way out of it. */
import { announce } from '../../state/announcement.ts';
import { useAction, useList } from '../../state/store.ts';
import { Notice } from '../../parts/notice.tsx';
import { Refused } from '../../parts/refused.tsx';
import { strings } from '../../base/strings.ts';
import { WhenExactly } from '../../parts/when.tsx';

const words = strings.pause;

export function PauseBanner() {
  const { value: status } = useList('status');
  const action = useAction();
  if (status?.pause === undefined) return null;
  const { until } = status.pause;
  const resume = async (): Promise<void> => {
    if (await action.run('resume', {})) announce(words.resumed);
  };
  return (
    <div class="banner">
      <Notice kind="warn" icon="lock">
        <p>
          <strong>{words.paused}</strong>
        </p>
        <p class="small">
          {until === undefined ? (
            words.untilResumed
          ) : (
            <>
              {words.until} <WhenExactly at={until} />
            </>
          )}
        </p>
        <Refused refusal={action.refusal} />
      </Notice>
      <button type="button" aria-disabled={action.isBusy} onClick={() => void resume()}>
        {words.resume}
      </button>
    </div>
  );
}
