/**
 * Something of any length in a box of a bounded height.
 *
 * Invariant: what is longer than the box is reached by the keyboard too: the box can have the focus then,
 * and has a name. One that shows everything is no stop on the way of the Tab key.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface ScrollBoxProps {
  /** What is in it, for screen readers. */
  readonly label: string;
  readonly children: ComponentChildren;
}

export function ScrollBox({ label, children }: ScrollBoxProps) {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [isLong, set] = useState(false);
  useEffect(() => {
    const { current: outer } = box;
    const { current: inner } = content;
    if (outer === null || inner === null) return undefined;
    const observer = new ResizeObserver(() => set(outer.scrollHeight > outer.clientHeight));
    observer.observe(outer);
    observer.observe(inner);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      class="scroll-box"
      ref={box}
      {...(isLong ? { tabIndex: 0, role: 'group', 'aria-label': label } : {})}
    >
      <div ref={content}>{children}</div>
    </div>
  );
}
