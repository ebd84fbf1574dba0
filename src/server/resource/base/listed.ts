/**
 * What a request or a token states, for an operator's event.
 *
 * Invariant: bounded and printable; nothing that looks like a secret, and no query.
 */
import { quoted, quotedWithheld } from '../../../base/errors.ts';

/** Names in one list. */
const maxNames = 5;

/** Of texts that nothing has proven. */
export function listed(stated: unknown): string {
  const texts = [stated].flat().filter((one) => typeof one === 'string');
  return joined(texts.map((text) => quotedWithheld(text.slice(0, 500).replace(/(?<=[?#]).+$/s, '…'))));
}

/** Of texts in the configuration. */
export function expected(texts: readonly string[]): string {
  return joined(texts.map(quoted));
}

function joined(names: readonly string[]): string {
  const more = names.length > maxNames ? ', …' : '';
  return names.length === 0 ? 'missing' : names.slice(0, maxNames).join(', ') + more;
}
