/** The first run: a first server, the apps on this computer, start at login. None of it needs a terminal. */
import { useState } from 'preact/hooks';
import { useAction } from '../../state/action.ts';
import { Switch } from '../../parts/field.tsx';
import { Icon, Logo } from '../../parts/icon.tsx';
import { Refused } from '../../parts/refused.tsx';
import { leaveFor } from '../../state/route.ts';
import { useList } from '../../state/store.ts';
import { strings } from '../../base/strings.ts';
import { SignInForm } from '../servers/sign-in-form.tsx';
import { VaultBanner } from '../vault/vault-banner.tsx';
import { ConnectClients } from '../programs/connect-clients.tsx';

const words = strings.welcome;

export function Welcome() {
  const { value } = useList('preferences.get');
  const atLogin = useAction();
  // Its own: a click on it counts while the switch is still at work.
  const action = useAction();
  const [isSignedIn, noteSignIn] = useState(false);
  const finish = async (): Promise<void> => {
    if (await action.run('preferences.set', { isWelcomed: true })) leaveFor('servers');
  };
  return (
    <main class="welcome" tabIndex={-1}>
      <Logo />
      <h1>{words.title}</h1>
      <p class="lead">{words.lead}</p>
      <VaultBanner />
      <ol class="steps">
        <li>
          <h2>{words.clients}</h2>
          <p>{strings.setup.lead}</p>
          <ConnectClients />
          <p class="dim">{words.programOwn}</p>
        </li>
        <li>
          <h2>{words.server}</h2>
          <p>{words.serverWhat}</p>
          {isSignedIn && (
            <p>
              <Icon name="check" /> {words.signedIn}
            </p>
          )}
          <SignInForm isFirst={false} onDone={() => noteSignIn(true)} />
        </li>
        <li>
          <h2>{words.login}</h2>
          <Switch
            label={strings.settings.openAtLogin}
            hint={words.loginWhat}
            isOn={value?.openAtLogin ?? false}
            onSwitch={async (openAtLogin) =>
              (await atLogin.run('preferences.set', { openAtLogin })) !== undefined
            }
          />
        </li>
      </ol>
      <Refused refusal={atLogin.refusal ?? action.refusal} />
      <div class="actions">
        <button type="button" class="primary" onClick={() => void finish()}>
          {words.done}
        </button>
      </div>
    </main>
  );
}
