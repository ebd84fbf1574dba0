/** A few lines set off: something to know, to look after, or that went wrong. Its picture and words say which. */
import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';

interface NoticeProps {
  readonly kind: 'info' | 'warn' | 'bad';
  readonly icon?: IconName;
  readonly children: ComponentChildren;
}

export function Notice({ kind, icon = 'warn', children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}
