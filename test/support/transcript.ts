/** The form of a transcript (test/cli/transcripts.test.ts): its steps, and what fits them. */
import type { Run } from './home.ts';

/** Words that lines name with `$`. */
export type Names = Record<string, string>;

/** A text with the values of its names. */
export const valued = (text: string, names: Names): string =>
  text.replaceAll(/\$(\w+)/g, (all, name: string) => names[name] ?? all);

/** What [..] may be after this text: in JSON, one value. */
const anythingAfter = (text = ''): string =>
  text.endsWith('"') ? '[^"]*?' : text.endsWith('":') ? '[^",}]*' : '.*?';

/** The pattern of these lines, and of no more unless `isBeginning`. */
function patternOf(lines: readonly string[], names: Names, isBeginning = false): RegExp {
  const source = lines.map((line) => {
    if (line === '...') return '(?:.*\\n)*?';
    const parts = line.split(/(\[\.\.\]|\[=\w+\])/).map((part, index, all) => {
      if (index % 2 === 0) return valued(part, names).replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
      return part === '[..]' ? anythingAfter(all[index - 1]) : `(?<${part.slice(2, -1)}>[^\\s",]+)`;
    });
    return `${parts.join('')}\\n`;
  });
  return new RegExp(`^${source.join('')}${isBeginning ? '' : '$'}`);
}

export function stepOf(block: string) {
  const lines = block.trimEnd().split('\n');
  const given = lines.filter((line, index) => index === 0 || /^[<>] /.test(line));
  const expected = lines.slice(given.length);
  const after = (mark: string, some: readonly string[]): string[] =>
    some.flatMap((line) => (line.startsWith(mark) ? [line.slice(2)] : []));
  return {
    given,
    expected,
    command: after('$ ', given).concat(after('> ', given)).join('\n'),
    act: after('@ ', given).join(''),
    stdin: after('< ', given)
      .map((line) => `${line}\n`)
      .join(''),
    out: expected.filter((line) => !/^[!?] /.test(line)),
    err: after('! ', expected),
    code: Number(after('? ', expected)[0] ?? 0),
  };
}

export type Step = ReturnType<typeof stepOf>;

/** Lines that only a slow machine shows. */
const whileWaiting =
  /^keyturn: (?:(?:starting the broker|waiting for .*|revoking the sign-ins .*)…|the request waits on the machine where the broker runs\.)\n/gm;

/** Whether this is what a step expects; keeps the words that it names. */
export function fits({ stdout, stderr, code }: Run, step: Step, names: Names, isBeginning = false): boolean {
  const found = [
    patternOf(step.out, names, isBeginning).exec(stdout),
    patternOf(step.err, names, isBeginning).exec(stderr.replaceAll(whileWaiting, '')),
  ];
  if (code !== step.code || found.includes(null)) return false;
  for (const match of found) Object.assign(names, match?.groups);
  return true;
}

/** What came, as a transcript has it: an expected line stays where it fits. */
export function written({ stdout, stderr, code }: Run, { out, err }: Step, names: Names): string[] {
  const values = Object.entries(names).toSorted(([, a], [, b]) => b.length - a.length);
  const kept = (line: string, expected: readonly string[]): string =>
    expected.find((one) => one !== '...' && patternOf([one], names).test(`${line}\n`)) ??
    values.reduce((text, [name, value]) => text.replaceAll(value, `$${name}`), line);
  const linesOf = (text: string): string[] =>
    text
      .replace(/[^\n]$/, '$& (no end of line)\n')
      .split('\n')
      .slice(0, -1);
  return [
    ...linesOf(stdout).map((line) => kept(line, out)),
    ...linesOf(stderr.replaceAll(whileWaiting, '')).map((line) => `! ${kept(line, err)}`),
    ...(code === 0 ? [] : [`? ${code}`]),
  ];
}
