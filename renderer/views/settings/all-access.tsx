/** What stops every app at once: the pause of all access, and the end of all of it. */
import { Button } from '../../parts/button.tsx';
import { useAction, useList, type Action } from '../../state/store.ts';
import { ConfirmedAction } from '../../parts/confirmed-action.tsx';
import { Fact, Facts } from '../../parts/facts.tsx';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { Refused } from '../../parts/notice.tsx';
import { strings } from '../../base/strings.ts';
import type { Status } from '../../base/views.ts';

const words = strings.pause;

const hour = 3600;

export function AllAccess({ status }: { readonly status: Status }) {
  return (
    <section class="card" aria-labelledby="all-access-title">
      <h3 id="all-access-title">{words.title}</h3>
      {status.pause === undefined && <PauseSetting />}
      <RevokeAll />
    </section>
  );
}

function PauseSetting() {
  const action = useAction();
  const pause = async (seconds?: number): Promise<void> => {
    const until = seconds === undefined ? {} : { until: Math.floor(Date.now() / 1000) + seconds };
    await action.run('pause', until, words.paused);
  };
  return (
    <div class="setting">
      <div>
        <p>{words.pause}</p>
        <p class="dim small">{words.what}</p>
        <Refused refusal={action.refusal} />
      </div>
      <Button text={words.forHour} isBusy={action.isBusy} onPress={() => pause(hour)} />
      <Button text={words.untilIResume} class="quiet" isBusy={action.isBusy} onPress={pause} />
    </div>
  );
}

function RevokeAll() {
  const { value } = useList('signIn.list');
  const signIns = (value?.signIns ?? []).filter(({ state }) => state !== 'revoked');
  const apps = [...new Set(signIns.flatMap((signIn) => signIn.apps))];
  if (signIns.length === 0) return null;
  const revoke = async (action: Action): Promise<object | undefined> => {
    for (const { id } of signIns) {
      if (!(await action.run('signIn.revoke', { id }))) return undefined;
    }
    return {};
  };
  return (
    <div class="setting">
      <div>
        <p>{words.revokeAll}</p>
        <p class="dim small">{words.revokeAllWhat}</p>
      </div>
      <ConfirmedAction
        button={words.revokeAllButton}
        label={words.revokeAllButton}
        title={words.revokeAllTitle}
        what={words.revokeAllConsequence}
        confirm={words.revokeAll}
        done={words.revokedAll}
        run={revoke}
      >
        <Facts>
          <Fact name={words.cutOff}>
            {apps.length === 0 && words.nobody}
            {apps.map((app) => (
              <p key={app}>
                <UntrustedText text={app} />
              </p>
            ))}
          </Fact>
          <Fact name={words.servers}>
            {signIns.map(({ id, endpoint }) => (
              <p key={id}>
                <Address url={endpoint} />
              </p>
            ))}
          </Fact>
        </Facts>
      </ConfirmedAction>
    </div>
  );
}
