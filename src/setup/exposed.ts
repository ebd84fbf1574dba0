/**
 * Which secrets are in plain text in an entry that stays as it is, by the names that they have there.
 *
 * Invariant: no answer holds a value. A reference to a variable is no secret; a value that the entry itself gives that
 * variable is one.
 */
import { parseJson } from '../base/text/json.ts';

/** Names of headers and URL parameters that hold secrets. */
export const secretName = /key|token|secret|auth|password|passwd|cookie|credential|session/i;

/** Members, variables and options have many names with such a word in it (`tokenUrl`): its end decides. */
const secretMember = /(?:key|token|secret|password|passwd|passphrase|credentials?|authorization|cookie)$/i;

/** `${VAR}`, `$VAR`, `%VAR%`, `${input:id}`, `{env:VAR}`: the client puts something else there. */
export const reference = /\$\{|\$[A-Za-z_]|%[A-Z_][A-Z\d_]{2,}%|\{(?:env|file|input):/;

const scheme = /^(?:bearer|basic|token)\s+\S/i;

/** True for a header that holds a secret, by its name or by the scheme before its value. */
export const isSecretHeader = (name: string, value: string): boolean =>
  secretName.test(name) || scheme.test(value);

export function exposedIn(entry: Readonly<Record<string, unknown>>): readonly string[] {
  return [...new Set(Object.entries(entry).flatMap(([name, value]) => inMember(name, value)))];
}

function inMember(name: string, value: unknown, isHeader = false): readonly string[] {
  // These name variables.
  if (/^env_|_env_var$/i.test(name)) return [];
  if (Array.isArray(value)) return inWords(value.filter((word) => typeof word === 'string'));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([inner, text]) =>
      inMember(inner, text, isHeader || /headers$/i.test(name)),
    );
  if (typeof value !== 'string' || value.trim() === '' || reference.test(value)) return [];
  if (isSecretUrl(value)) return ['URL'];
  const isSecret = scheme.test(value) || (isHeader ? secretName : secretMember).test(name);
  return isSecret ? [name] : [];
}

/** `--header "Name: value"`, `--header=…`, `--headers Name value`, `--api-key value`, and JSON. */
function inWords(words: readonly string[]): readonly string[] {
  return words.flatMap((word, at) => {
    const [, option = '', joined = word] = /^(?:-H|(-{1,2}[\w-]+)=)(.*)$/s.exec(word) ?? [];
    if (joined.startsWith('{')) return inMember('', parseJson(joined));
    const before = words[at - 1] ?? '';
    const name = option || before;
    if (joined.startsWith('-')) return [];
    const [, header = '', text = ''] = /^([\w-]+):\s*(?!\/\/)(.+)$/s.exec(joined) ?? [];
    if (header !== '') return inMember(header, text, true);
    const isValue = option !== '' || before.startsWith('-') || words[at - 2] === '--headers';
    return isValue ? inMember(name.replace(/^-+/, ''), joined) : inMember('', joined);
  });
}

export function isSecretUrl(text: string): boolean {
  const url = /^https?:/i.test(text) ? URL.parse(text) : null;
  return (
    url !== null &&
    (url.password !== '' || [...url.searchParams.keys()].some((name) => secretName.test(name)))
  );
}
