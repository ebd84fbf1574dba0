/** The first run: how the command is installed, start at login, a first program. */
import { CopyText } from '../parts/copy-text.tsx';
import { useAction } from '../state/action.ts';
import { Switch } from '../parts/field.tsx';
import { Logo } from '../parts/icon.tsx';
import { Refused } from '../parts/refused.tsx';
import { leaveFor } from '../state/route.ts';
import { useList } from '../state/store.ts';
import { strings } from '../base/strings.ts';

const words = strings.welcome;

export function Welcome() {
  const { value } = useList('preferences.get');
  const atLogin = useAction();
  // Its own: a click on it counts while the switch is still at work.
  const action = useAction();
  const finish = async (): Promise<void> => {
    if (await action.run('preferences.set', { isWelcomed: true })) leaveFor('servers');
  };
  return (
    <main class="welcome" tabIndex={-1}>
      <Logo />
      <h1>{words.title}</h1>
      <p class="lead">{words.lead}</p>
      <ol class="steps">
        <li>
          <h2>{words.command}</h2>
          <p>{words.commandWhat}</p>
          <CopyText text={words.commands.install} />
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
        <li>
          <h2>{words.program}</h2>
          <p>{words.programWhat}</p>
          <CopyText text={words.commands.first} />
          <p class="dim">{words.programOwn}</p>
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
