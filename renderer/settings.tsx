/** What can be set, each where it belongs: the app, the vault, the broker, clients by hand, waived rules. */
import { announce } from './announcement.ts';
import { BrokerSettings } from './broker-settings.tsx';
import { useDeed } from './deed.ts';
import { Switch } from './field.tsx';
import { ListFrame } from './list-frame.tsx';
import { OverrideSettings } from './override-settings.tsx';
import { Refused } from './refused.tsx';
import { RegistrationForm } from './registration-form.tsx';
import { ViewHead } from './servers.tsx';
import { useList } from './store.ts';
import { strings } from './strings.ts';
import { VaultSettings } from './vault-settings.tsx';
import type { Preferences, Settings as BrokerValues, Status } from './views.ts';

const words = strings.settings;
const noValues: BrokerValues = {};

export function Settings() {
  const status = useList('status');
  const settings = useList('settings.get');
  const values = settings.value?.settings ?? noValues;
  const shown: Status | undefined = status.value;
  return (
    <>
      <ViewHead title={words.title} lead="" />
      <AppSettings />
      <ListFrame loaded={status} isEmpty={false} emptyTitle="" empty="">
        {shown && (
          <>
            <VaultSettings status={shown} values={values} />
            <RegistrationForm />
            <OverrideSettings status={shown} />
            <BrokerSettings status={shown} settings={settings} values={values} />
          </>
        )}
      </ListFrame>
    </>
  );
}

const switches = ['openAtLogin', 'notifications', 'lockWithScreen'] as const;

function AppSettings() {
  const loaded = useList('preferences.get');
  const deed = useDeed();
  const preferences: Preferences | undefined = loaded.value;
  const change = async (changed: Partial<Preferences>): Promise<boolean> => {
    const isDone = (await deed.run('preferences.set', changed)) !== undefined;
    if (isDone) announce(words.saved);
    return isDone;
  };
  return (
    <section class="card">
      <h3>{words.app}</h3>
      {loaded.refusal !== undefined && <Refused refusal={loaded.refusal} />}
      {switches.map((name) => (
        <Switch
          key={name}
          label={words[name]}
          isOn={preferences?.[name] ?? false}
          onSwitch={(isOn) => change({ [name]: isOn })}
        />
      ))}
      <Refused refusal={deed.refusal} />
    </section>
  );
}
