/** What can be set, in sections: daily things first, plumbing last. */
import { strings } from '../../base/strings.ts';
import type { SettingDetail, ShownPreferences, Status } from '../../base/views.ts';
import { ListFrame } from '../../lists/list-frame.tsx';
import { Switch } from '../../parts/field.tsx';
import { Refused } from '../../parts/notice.tsx';
import { Mark } from '../../parts/state-mark.tsx';
import { goTo } from '../../state/route.ts';
import { useAction, useList } from '../../state/store.ts';
import { AllAccess } from './all-access.tsx';
import { BrokerFacts, needsAttention } from './broker-facts.tsx';
import { ClientSettings } from './client-settings.tsx';
import { ExceptionSettings } from './exception-settings.tsx';
import { Proxies } from './proxies.tsx';
import { SettingChoice } from './setting-choice.tsx';
import { VaultSettings } from './vault-settings.tsx';
import { ViewHead } from '../../parts/view-head.tsx';

const words = strings.settings;
const noDetails: readonly SettingDetail[] = [];

/** In this order; each is an item of the tab's address. */
const sections = ['general', 'security', 'providers', 'advanced'] as const;

type Section = (typeof sections)[number];

export function Settings({ item }: { readonly item?: string }) {
  const section = sections.find((name) => name === item) ?? 'general';
  const status = useList('status');
  return (
    <>
      <ViewHead title={words.title} />
      <div class="sectioned">
        <nav aria-label={words.sections}>
          {sections.map((name) => (
            <button
              key={name}
              type="button"
              class="pick"
              aria-current={name === section}
              onClick={() => goTo('settings', name)}
            >
              {words.sectionNames[name]}
              {name === 'advanced' && status.value && needsAttention(status.value) && (
                <Mark tone="bad" icon="warn">
                  {words.attention}
                </Mark>
              )}
            </button>
          ))}
        </nav>
        <div class="section">
          {section === 'general' && <AppSettings />}
          <BrokerSettings section={section} />
        </div>
      </div>
    </>
  );
}

/** What the broker keeps; without its answer only the app's own settings are there. */
function BrokerSettings({ section }: { readonly section: Section }) {
  const status = useList('status');
  const settings = useList('settings.get');
  const details = settings.value?.details ?? noDetails;
  return (
    <ListFrame loaded={status}>
      <Refused refusal={settings.refusal} />
      {status.value && <SectionSettings section={section} status={status.value} details={details} />}
    </ListFrame>
  );
}

interface SectionSettingsProps {
  readonly section: Section;
  readonly status: Status;
  readonly details: readonly SettingDetail[];
}

function SectionSettings({ section, status, details }: SectionSettingsProps) {
  switch (section) {
    case 'general':
      return <QuestionSettings details={details} />;
    case 'security':
      return (
        <>
          <AllAccess status={status} />
          <VaultSettings status={status} details={details} />
          <ExceptionSettings status={status} />
        </>
      );
    case 'providers':
      return <ClientSettings details={details} />;
    case 'advanced':
      return (
        <>
          <BrokerFacts status={status} details={details} />
          <Proxies status={status} />
          <HeadlessSettings home={status.homeState} />
        </>
      );
  }
}

const switches = ['openAtLogin', 'windowAtLogin', 'notifications', 'lockWithScreen'] as const;

/** What the system can't do is not offered, but what is on stays there: it says why it doesn't work. */
const isOffered = (name: (typeof switches)[number], shown: ShownPreferences): boolean =>
  name !== 'lockWithScreen' || shown.screenLock === 'listening' || shown.lockWithScreen;

function hintOf(name: (typeof switches)[number], shown: ShownPreferences): string {
  const what = words[`${name}What`];
  if (name !== 'lockWithScreen' || shown.screenLock === 'listening') return what;
  return `${what} ${words.notListening[shown.screenLock]}`;
}

function AppSettings() {
  const { value, refusal } = useList('preferences.get');
  const action = useAction();
  return (
    <section class="card" aria-labelledby="app-title">
      <h3 id="app-title">{words.app}</h3>
      <Refused refusal={refusal} />
      {/* A switch drawn before its value is known would look off, and a press on it would do nothing. */}
      {value &&
        switches
          .filter((name) => isOffered(name, value))
          .map((name) => (
            <Switch
              key={name}
              label={words[name]}
              hint={hintOf(name, value)}
              isOn={value[name]}
              onSwitch={(isOn) => action.run('preferences.set', { [name]: isOn }, words.saved)}
            />
          ))}
      <Refused refusal={action.refusal} />
    </section>
  );
}

const durations = ['once', 'hour', 'run', 'untilRevoked'] as const;

/** Nothing where the broker doesn't know the setting. */
function QuestionSettings({ details }: { readonly details: readonly SettingDetail[] }) {
  if (details.every(({ name }) => name !== 'defaultDuration')) return null;
  return (
    <section class="card" aria-labelledby="asking-title">
      <h3 id="asking-title">{words.asking}</h3>
      <SettingChoice
        name="defaultDuration"
        details={details}
        label={words.defaultDuration}
        hint={words.defaultDurationWhat}
        options={durations.map((value) => ({ value, label: strings.card.durations[value] }))}
        valueOf={(option) => option}
      />
    </section>
  );
}

/** Whether brokers without a window may widen something in this home: off, until the user says otherwise here. */
function HeadlessSettings({ home }: { readonly home: Status['homeState'] }) {
  const action = useAction();
  return (
    <section class="card" aria-labelledby="allow-command-title">
      <h3 id="allow-command-title">{words.allowCommand}</h3>
      <Switch
        label={words.commandAllowed}
        hint={words.commandAllowedWhat}
        isOn={home.approver === 'either'}
        onSwitch={(isAllowed) => action.run('home.allowCommand', { isAllowed }, words.saved)}
      />
      <Refused refusal={action.refusal} />
    </section>
  );
}
