/**
 * Foreign text and addresses on the screen.
 *
 * Invariant: always a text node, in an element of its own direction; never markup, never a link.
 */
import { fit } from './foreign-text.ts';

export function Foreign({ text, bound }: { readonly text: string; readonly bound?: number }) {
  const { text: shown, isOdd } = fit(text, bound);
  return <bdi class="foreign">{isOdd ? `“${shown}”` : shown}</bdi>;
}

/** An address with its host set off, since that is the part that says whose it is. */
export function Address({ url }: { readonly url: string }) {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.host === '' || parsed.username !== '' || fit(url).isOdd) {
    return <Foreign text={url} />;
  }
  const at = url.indexOf(parsed.host);
  if (at < 0) return <Foreign text={url} />;
  return (
    <bdi class="foreign address">
      <span class="dim">{url.slice(0, at)}</span>
      <strong>{parsed.host}</strong>
      <span class="dim">{url.slice(at + parsed.host.length)}</span>
    </bdi>
  );
}
