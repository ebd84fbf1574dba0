/**
 * A text to copy: shown whole, selected at a press, and put on the clipboard where the system lets the
 * window do so.
 */
import { useRef } from 'preact/hooks';
import { announce } from './announcement.ts';
import { strings } from './strings.ts';

export function CopyText({ text }: { readonly text: string }) {
  const shown = useRef<HTMLPreElement>(null);
  const copy = async (): Promise<void> => {
    if (shown.current) window.getSelection()?.selectAllChildren(shown.current);
    try {
      await navigator.clipboard.writeText(text);
      announce(strings.copied);
    } catch {
      // The text is selected: the person copies it by the keyboard.
    }
  };
  return (
    <div class="copy">
      <pre ref={shown} tabIndex={0}>
        {text}
      </pre>
      <button type="button" aria-label={strings.copyOf(text)} onClick={() => void copy()}>
        {strings.copy}
      </button>
    </div>
  );
}
