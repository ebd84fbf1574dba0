/** Whether brokers without a window may widen something in this home: off, until the user says otherwise here. */
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { Switch } from '../../parts/field.tsx';
import { Refused } from '../../parts/refused.tsx';
import { strings } from '../../base/strings.ts';
import type { Status } from '../../base/views.ts';

const words = strings.settings;

export function HeadlessSettings({ home }: { readonly home: Status['homeState'] }) {
  const action = useAction();
  const allowCommand = async (isAllowed: boolean): Promise<boolean> => {
    const isDone = (await action.run('home.allowCommand', { isAllowed })) !== undefined;
    if (isDone) announce(words.saved);
    return isDone;
  };
  return (
    <section class="card" aria-labelledby="allow-command-title">
      <h3 id="allow-command-title">{words.allowCommand}</h3>
      <Switch
        label={words.commandAllowed}
        hint={words.commandAllowedWhat}
        isOn={home.approver === 'either'}
        onSwitch={allowCommand}
      />
      <Refused refusal={action.refusal} />
    </section>
  );
}
