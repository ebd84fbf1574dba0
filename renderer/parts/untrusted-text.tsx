/**
 * Foreign text and addresses on the screen.
 *
 * Invariants: always a text node, in an element of its own direction; never markup, never a link. On a
 * card nothing is cut: an approval allows what stood there, and no more than that.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { sanitize } from '../base/untrusted-text.ts';

/** Around a card: whatever it says is shown whole, however long. */
export const OnCard = createContext(false);

/** Characters of one text on a card: more than any field of the wire has. The channel's schema refuses longer ones. */
const maxLengthOnCard = 16_384;

/** How much of a text is shown here; undefined for as much as is usual. */
function useBound(bound?: number): number | undefined {
  return useContext(OnCard) ? maxLengthOnCard : bound;
}

export function UntrustedText({ text, bound }: { readonly text: string; readonly bound?: number }) {
  const { text: shown, needsQuotes } = sanitize(text, useBound(bound));
  return <bdi class="untrusted">{needsQuotes ? `“${shown}”` : shown}</bdi>;
}

/** A name that stands out. */
export function Name(props: { readonly text: string; readonly bound?: number }) {
  return (
    <strong>
      <UntrustedText {...props} />
    </strong>
  );
}

/** The host of an address; the whole one if it has none. */
export function Host({ url, ...props }: { readonly url: string; readonly bound?: number }) {
  return <UntrustedText text={URL.parse(url)?.host || url} {...props} />;
}

interface TextListProps {
  readonly texts: readonly string[];
  readonly between?: string;
  readonly bound?: number;
}

/** Several texts in one line. */
export function TextList({ texts, between = ', ', ...props }: TextListProps) {
  return texts.map((text, at) => (
    <span key={`${at} ${text}`}>
      {at > 0 && between}
      <UntrustedText text={text} {...props} />
    </span>
  ));
}

/** Several texts, a line each: a space within one of them could pass for its end. */
export function UntrustedLines({ texts }: { readonly texts: readonly string[] }) {
  return texts.map((text) => (
    <p key={text}>
      <UntrustedText text={text} />
    </p>
  ));
}

/** An address with its host set off, since that is the part that says whose it is. */
export function Address({ url }: { readonly url: string }) {
  const parsed = URL.parse(url);
  const { needsQuotes } = sanitize(url, useBound());
  if (parsed === null || parsed.host === '' || parsed.username !== '' || needsQuotes) {
    return <UntrustedText text={url} />;
  }
  const at = url.indexOf(parsed.host);
  if (at < 0) return <UntrustedText text={url} />;
  return (
    <bdi class="untrusted address">
      <span class="dim">{url.slice(0, at)}</span>
      <strong>{parsed.host}</strong>
      <span class="dim">{url.slice(at + parsed.host.length)}</span>
    </bdi>
  );
}
