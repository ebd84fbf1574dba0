/** Above every view: that the vault, or a pause of all access, keeps apps from their tokens, and the way out of it. */
import { strings } from '../../base/strings.ts';
import { sanitizeSentence } from '../../base/untrusted-text.ts';
import type { Status } from '../../base/views.ts';
import { Button } from '../../parts/button.tsx';
import { Notice, Refused } from '../../parts/notice.tsx';
import { WhenExactly } from '../../parts/when.tsx';
import { useAction, useList } from '../../state/store.ts';
import { UnlockButton } from './unlock.tsx';

/** States in which an unlock helps. */
export const unlockableStates: ReadonlySet<string> = new Set(['new', 'locked', 'keychainLocked', 'waiting']);

export function VaultBanner() {
  const { value: status } = useList('status');
  const { state = '' } = status?.vaultState ?? {};
  const sentence = Object.hasOwn(strings.vaultBanner, state) ? strings.vaultBanner[state] : undefined;
  if (status === undefined) return null;
  if (sentence === undefined) return <NotVerified home={status.homeState} />;
  // A lock that a press opens needs no further words; its hint is for the command line.
  const { what, hint } = status.vaultState;
  const isPlainLock = unlockableStates.has(state) && status.vaultSource === undefined;
  const said = isPlainLock ? [] : [what, hint].filter((line) => line !== undefined);
  const mayUseFile = state === 'absent' && !status.homeState.hasOpenedVault;
  return (
    <div class="banner">
      <Notice kind="warn" icon="lock">
        <p>
          <strong>{sentence}</strong>
        </p>
        {said.map((line) => (
          <p key={line} class="small">
            {sanitizeSentence(line)}
          </p>
        ))}
        {mayUseFile && <p class="small">{strings.useFileWhat}</p>}
      </Notice>
      {unlockableStates.has(state) && <UnlockButton status={status} />}
      {mayUseFile && <FileButton />}
    </div>
  );
}

/** Lists are shown before the vault is needed. */
function NotVerified({ home }: { readonly home: Status['homeState'] }) {
  if (home.state !== 'unchecked' || !home.hasOpenedVault) return null;
  return <p class="dim small">{strings.notVerified}</p>;
}

/** The app starts again after it. */
function FileButton() {
  const action = useAction();
  return (
    <>
      <Button
        text={strings.useFile}
        class="primary"
        isBusy={action.isBusy}
        onPress={() => action.run('vault.useFile', {})}
      />
      <Refused refusal={action.refusal} />
    </>
  );
}

const words = strings.pause;

export function PauseBanner() {
  const { value: status } = useList('status');
  const action = useAction();
  if (status?.pause === undefined) return null;
  const { until } = status.pause;
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
      <Button
        text={words.resume}
        isBusy={action.isBusy}
        onPress={() => action.run('resume', {}, words.resumed)}
      />
    </div>
  );
}
