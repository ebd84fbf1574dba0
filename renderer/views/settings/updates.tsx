/** Whether this build can update itself, and the switch for it where it can. */
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/action.ts';
import { useList } from '../../state/store.ts';
import { Switch } from '../../parts/field.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Refused } from '../../parts/refused.tsx';
import { strings } from '../../base/strings.ts';
import type { SettingDetail } from '../../base/views.ts';

const words = strings.settings;

export function Updates({ details }: { readonly details: readonly SettingDetail[] }) {
  const { value } = useList('preferences.get');
  const action = useAction();
  if (value === undefined) return null;
  const isOn = details.some((detail) => detail.name === 'checkForUpdates' && detail.value === true);
  const change = async (isWanted: boolean): Promise<boolean> => {
    const done = await action.run('settings.set', { name: 'checkForUpdates', value: isWanted });
    if (done) announce(words.saved);
    return done !== undefined;
  };
  const { updates } = value;
  return (
    <section class="card" aria-labelledby="updates-title">
      <h3 id="updates-title">{words.updates}</h3>
      {updates === 'none' || updates === 'unsigned' ? (
        <p>{words.notUpdated[updates]}</p>
      ) : (
        <Switch
          label={words.checkForUpdates}
          hint={words.checkForUpdatesWhat}
          isOn={isOn}
          onSwitch={change}
        />
      )}
      {updates === 'ready' && <Notice kind="info">{words.updateReady}</Notice>}
      <Refused refusal={action.refusal} />
    </section>
  );
}
