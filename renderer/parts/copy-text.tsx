/**
 * A text to copy: shown whole, selected at a press, and put on the clipboard by the main process.
 *
 * Invariant: the button says that it is copied only where it is. Elsewhere the text stays selected, for the
 * keyboard.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { announce } from '../state/announcement.ts';
import { call } from '../state/store.ts';
import { strings } from '../base/strings.ts';

/** Milliseconds: long enough to be read after a look at the button. */
const confirmationTime = 3000;

export function CopyText({ text }: { readonly text: string }) {
  const shown = useRef<HTMLPreElement>(null);
  /** Counts the copies, so that each is said for its own while. */
  const [copies, count] = useState(0);
  const [isCopied, say] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => say(false), confirmationTime);
    return () => clearTimeout(timer);
  }, [copies]);
  const copy = async (): Promise<void> => {
    if (shown.current) window.getSelection()?.selectAllChildren(shown.current);
    const { ok } = await call('text.copy', { text });
    announce(ok ? strings.copied : strings.notCopied);
    say(ok);
    count((before) => before + 1);
  };
  return (
    <div class="copy">
      <pre ref={shown} tabIndex={0}>
        {text}
      </pre>
      <Button
        text={isCopied ? strings.copied : strings.copy}
        label={isCopied ? strings.copiedOf({ what: text }) : strings.copyOf({ what: text })}
        onPress={copy}
      />
    </div>
  );
}
