/** The first run: the apps on this computer, a first server, start at login. */
import { useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { useAction, useList } from '../../state/store.ts';
import { formatNumber } from '../../base/format.ts';
import { Switch } from '../../parts/field.tsx';
import { Icon, Logo } from '../../parts/icon.tsx';
import { Refused } from '../../parts/notice.tsx';
import { leaveFor } from '../../state/route.ts';
import { strings } from '../../base/strings.ts';
import { SignInForm } from '../servers/sign-in-form.tsx';
import { VaultBanner } from '../vault/vault-banner.tsx';
import { ConnectClients } from '../apps/connect-clients.tsx';

const words = strings.welcome;

/** One is shown at a time. */
const titles = [words.clients, words.server, words.login] as const;

export function Welcome() {
  const action = useAction();
  const [at, goOn] = useState(0);
  const isLast = at === titles.length - 1;
  const finish = async (): Promise<void> => {
    if (await action.run('preferences.set', { isWelcomed: true })) leaveFor('servers');
  };
  return (
    <main class="welcome" tabIndex={-1}>
      <header>
        <Logo />
        <h1>{words.title}</h1>
      </header>
      <p class="lead">{words.lead}</p>
      <VaultBanner />
      <section class="step" aria-labelledby="step-title">
        <p class="dim small">{words.step({ at: formatNumber(at + 1), of: formatNumber(titles.length) })}</p>
        <h2 id="step-title">{titles[at]}</h2>
        {at === 0 && (
          <>
            <p>{strings.setup.lead}</p>
            <ConnectClients />
            <p class="dim">{words.appOwn}</p>
          </>
        )}
        {at === 1 && <FirstSignIn />}
        {isLast && <AtLogin />}
      </section>
      <Refused refusal={action.refusal} />
      <div class="actions">
        {isLast ? (
          <Button text={words.done} class="primary" onPress={finish} />
        ) : (
          <>
            <Button text={words.skip} onPress={finish} />
            <Button text={words.next} onPress={() => goOn(at + 1)} />
          </>
        )}
      </div>
    </main>
  );
}

function FirstSignIn() {
  const [isSignedIn, noteSignIn] = useState(false);
  return (
    <>
      <p>{words.serverWhat}</p>
      {isSignedIn && (
        <p>
          <Icon name="check" /> {words.signedIn}
        </p>
      )}
      <SignInForm isFirst={false} onDone={() => noteSignIn(true)} />
    </>
  );
}

function AtLogin() {
  const { value } = useList('preferences.get');
  const action = useAction();
  return (
    <>
      <Switch
        label={strings.settings.openAtLogin}
        hint={words.loginWhat}
        isOn={value?.openAtLogin ?? false}
        onSwitch={(openAtLogin) => action.run('preferences.set', { openAtLogin })}
      />
      <Refused refusal={action.refusal} />
    </>
  );
}
