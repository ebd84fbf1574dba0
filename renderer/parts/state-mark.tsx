/** How something stands: a picture, a word and a colour, never only the colour. */
import type { ComponentChildren } from 'preact';
import { UntrustedText } from './untrusted-text.tsx';
import { Icon, type IconName } from './icon.tsx';
import { strings } from '../base/strings.ts';

type Tone = 'good' | 'warn' | 'bad' | 'calm';

interface MarkProps {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly title?: string;
  readonly children: ComponentChildren;
}

export function Mark({ tone, icon, title, children }: MarkProps) {
  return (
    <span class={`mark ${tone}`} title={title}>
      <Icon name={icon} />
      <span>{children}</span>
    </span>
  );
}

const signInStates: Readonly<Record<string, readonly [Tone, IconName] | undefined>> = {
  active: ['good', 'check'],
  refreshing: ['good', 'refresh'],
  signInRequired: ['warn', 'user'],
  revoked: ['calm', 'ended'],
};

/**
 * A state that this page doesn't know is shown as the broker names it. `isTroubled`: the last refresh failed, and the
 * next will be tried; then the sign-in is no longer simply good.
 */
export function SignInState({ state, isTroubled }: { readonly state: string; readonly isTroubled: boolean }) {
  if (isTroubled && state !== 'signInRequired' && state !== 'revoked') {
    return (
      <Mark tone="warn" icon="warn">
        {strings.state['noNewToken']}
      </Mark>
    );
  }
  const known = Object.hasOwn(signInStates, state) ? signInStates[state] : undefined;
  const [tone, icon] = known ?? ['calm', 'ask'];
  return (
    <Mark tone={tone} icon={icon}>
      {known === undefined ? <UntrustedText text={state} bound={40} /> : strings.state[state]}
    </Mark>
  );
}
