/** Whether brokers without a window may widen something in this home: off, until the person says otherwise here. */
import { announce } from '../../state/announcement.ts';
import { useDeed } from '../../state/deed.ts';
import { Switch } from '../../parts/field.tsx';
import { Refused } from '../../parts/refused.tsx';
import { strings } from '../../base/strings.ts';
import type { Status } from '../../base/views.ts';

const words = strings.settings;

export function ReleaseSettings({ home }: { readonly home: Status['homeState'] }) {
  const deed = useDeed();
  const release = async (isReleased: boolean): Promise<boolean> => {
    const isDone = (await deed.run('home.release', { isReleased })) !== undefined;
    if (isDone) announce(words.saved);
    return isDone;
  };
  return (
    <section class="card" aria-labelledby="release-title">
      <h3 id="release-title">{words.release}</h3>
      <Switch
        label={words.released}
        hint={words.releasedWhat}
        isOn={home.desk === 'released'}
        onSwitch={release}
      />
      <Refused refusal={deed.refusal} />
    </section>
  );
}
