/** The broker's own settings: those with a form, and the rest to read. */
import { useEffect, useState } from 'preact/hooks';
import { announce } from './announcement.ts';
import { useDeed } from './deed.ts';
import { Fact, Facts } from './facts.tsx';
import { Choice, Field } from './field.tsx';
import { Foreign } from './foreign.tsx';
import { fitLabel } from './foreign-text.ts';
import { Refused } from './refused.tsx';
import type { Loaded } from './store.ts';
import { strings } from './strings.ts';
import type { Settings, SettingValue, Status } from './views.ts';
import { duration } from './words.ts';

const words = strings.settings;

/** Shown with a form of their own, here or with the vault. */
const withForm = ['clientMetadataUrl', 'defaultLease', 'lockAfter', 'vault'];

/** Seconds a permission may last by default. */
const leases = [3600, 28_800, 86_400, 7 * 86_400];

interface BrokerSettingsProps {
  readonly status: Status;
  readonly settings: Loaded<unknown>;
  readonly values: Settings;
}

export function BrokerSettings({ status, settings, values }: BrokerSettingsProps) {
  const { clientMetadataUrl: url, defaultLease } = values;
  const others = Object.entries(values).filter(([name]) => !withForm.includes(name));
  return (
    <section class="card">
      <h3>{words.broker}</h3>
      {status.insecureLoopback && <p class="warning">{words.insecure}</p>}
      <Unreadable files={status.unreadable} />
      <Refused refusal={settings.refusal} />
      {settings.value !== undefined && <MetadataUrl url={typeof url === 'string' ? url : ''} />}
      {defaultLease !== undefined && <DefaultLease value={defaultLease} />}
      <details class="disclosure">
        <summary>{words.other}</summary>
        <p class="dim">{words.otherHint}</p>
        <Facts>
          <Fact name={words.version}>{fitLabel(status.version)}</Fact>
          <Fact name={words.home}>
            <Foreign text={status.home} bound={300} />
          </Fact>
          {others.map(([name, value]) => (
            <Fact key={name} name={name}>
              <Foreign text={settingText(value)} />
            </Fact>
          ))}
        </Facts>
      </details>
    </section>
  );
}

const settingText = (value: SettingValue): string => (Array.isArray(value) ? value.join(' ') : String(value));

function Unreadable({ files }: { readonly files: Status['unreadable'] }) {
  if (files.length === 0) return null;
  return (
    <div class="warning">
      <p>{words.unreadable}</p>
      <ul>
        {files.map(({ file, why }) => (
          <li key={file}>
            <Foreign text={file} bound={300} />: <Foreign text={why} bound={300} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function MetadataUrl({ url }: { readonly url: string }) {
  const [text, set] = useState(url);
  const deed = useDeed();
  useEffect(() => set(url), [url]);
  const save = async (): Promise<void> => {
    const value = text.trim() === '' ? null : text.trim();
    if (await deed.run('settings.set', { name: 'clientMetadataUrl', value })) announce(words.saved);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <div class="row">
        <Field
          label={words.clientMetadataUrl}
          hint={words.clientMetadataHint}
          type="url"
          value={text}
          onInput={set}
        />
        <button type="submit" disabled={text.trim() === url}>
          {strings.save}
        </button>
      </div>
      <Refused refusal={deed.refusal} />
    </form>
  );
}

function DefaultLease({ value }: { readonly value: SettingValue }) {
  const deed = useDeed();
  const choose = async (chosen: string): Promise<void> => {
    const seconds = chosen === '' ? null : Number(chosen);
    if (await deed.run('settings.set', { name: 'defaultLease', value: seconds })) announce(words.saved);
  };
  const options = leases.map((seconds) => ({ value: String(seconds), label: duration(seconds) }));
  return (
    <>
      <Choice
        label={words.defaultLease}
        value={typeof value === 'number' ? String(value) : ''}
        options={[{ value: '', label: words.defaultLeaseNone }, ...options]}
        onChoose={(chosen) => void choose(chosen)}
      />
      <Refused refusal={deed.refusal} />
    </>
  );
}
