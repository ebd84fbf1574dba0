/** Whether a text of JSON names a field twice. `JSON.parse` takes the last one then, and the other may forbid more. */
import { visit } from 'jsonc-parser';

/** The first name that stands twice in one object. */
export function repeatedField(text: string): string | undefined {
  const around: Set<string>[] = [];
  let found: string | undefined;
  visit(text, {
    onObjectBegin: () => void around.push(new Set()),
    onObjectEnd: () => void around.pop(),
    onObjectProperty: (name) => {
      if (around.at(-1)?.has(name)) found ??= name;
      around.at(-1)?.add(name);
    },
  });
  return found;
}
