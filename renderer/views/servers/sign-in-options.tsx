/** What a sign-in may need beside the server's address: a client of the user's own, exact scopes, another device. */
import { Field, Switch } from '../../parts/field.tsx';
import { Notice } from '../../parts/notice.tsx';
import { strings } from '../../base/strings.ts';

const words = strings.signInOptions;

export interface Options {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  /** With a code on another device. */
  readonly isDevice: boolean;
}

interface SignInOptionsProps {
  readonly options: Options;
  readonly onChange: (changed: Partial<Options>) => void;
  readonly isOpen: boolean;
  readonly onToggle: (isOpen: boolean) => void;
}

export function SignInOptions({ options, onChange, isOpen, onToggle }: SignInOptionsProps) {
  const { clientId, clientSecret, scope, isDevice } = options;
  return (
    <details class="disclosure" open={isOpen} onToggle={(event) => onToggle(event.currentTarget.open)}>
      <summary>{words.title}</summary>
      <div class="pair">
        <Field
          label={strings.registration.clientId}
          hint={words.clientIdHint}
          value={clientId}
          onInput={(text) => onChange({ clientId: text })}
          isRequired={clientSecret !== ''}
        />
        <Field
          label={strings.registration.secret}
          hint={strings.registration.secretHint}
          type="password"
          value={clientSecret}
          onInput={(text) => onChange({ clientSecret: text })}
        />
        <Field
          label={words.scope}
          hint={words.scopeHint}
          value={scope}
          onInput={(text) => onChange({ scope: text })}
        />
      </div>
      {clientId.trim() !== '' && <Notice kind="warn">{words.exceptions}</Notice>}
      <Switch
        label={words.device}
        hint={words.deviceHint}
        isOn={isDevice}
        onSwitch={async (isOn) => {
          onChange({ isDevice: isOn });
          return true;
        }}
      />
    </details>
  );
}
