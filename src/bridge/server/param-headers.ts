/**
 * `Mcp-Param-*`: arguments that a tool of the stateless revision wants in headers too (`x-mcp-header` in its schema).
 *
 * Invariant: a header says what the body says, in the encoding of the revision; the schemas are those that the server
 * listed last.
 */
import { fieldsOf, type Fields } from '../base/envelope.ts';
import type { Answer, JSONRPCRequest } from '../base/messages.ts';

interface Declared {
  readonly header: string;
  readonly path: readonly string[];
}

/** RFC 9110 §5.1. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export class ParamHeaders {
  readonly #tools = new Map<string, readonly Declared[]>();

  learn({ method }: JSONRPCRequest, answer: Answer): void {
    if (method !== 'tools/list' || !('result' in answer)) return;
    const { tools } = answer.result;
    for (const tool of Array.isArray(tools) ? tools : []) {
      const { name, inputSchema } = fieldsOf(tool);
      if (typeof name === 'string') this.#tools.set(name, declaredIn(fieldsOf(inputSchema), []));
    }
  }

  for({ method, params }: JSONRPCRequest): Record<string, string> {
    const { name, arguments: given } = fieldsOf(params);
    const declared = method === 'tools/call' && typeof name === 'string' ? this.#tools.get(name) : undefined;
    return Object.fromEntries(
      (declared ?? []).flatMap(({ header, path }) => {
        const value = textOf(path.reduce<unknown>((node, key) => fieldsOf(node)[key], given));
        return value === undefined ? [] : [[`Mcp-Param-${header}`, encoded(value)]];
      }),
    );
  }
}

/** Properties at any depth, by chains of `properties` alone. */
function declaredIn(schema: Fields, path: readonly string[]): Declared[] {
  return Object.entries(fieldsOf(schema['properties'])).flatMap(([key, child]) => {
    const property = fieldsOf(child);
    const { 'x-mcp-header': header } = property;
    const own = typeof header === 'string' && token.test(header) ? [{ header, path: [...path, key] }] : [];
    return [...own, ...declaredIn(property, [...path, key])];
  });
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  return undefined;
}

/** As it is where it is a plain field value; else in base64, marked as such. */
function encoded(value: string): string {
  const isPlain =
    /^[\t\x20-\x7e]+$/.test(value) && value === value.trim() && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
