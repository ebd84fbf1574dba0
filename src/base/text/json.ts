/** Undefined for a text that is no JSON. Never throws: the parser's error repeats a piece of the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
