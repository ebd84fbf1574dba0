/**
 * `Mcp-Param-*`: arguments that a tool of the stateless revision wants in headers too (`x-mcp-header` in its schema).
 *
 * Invariant: a header says what the body says, in the encoding of the revision; the schemas are those that the server
 * listed last. A tool whose declarations the revision forbids is in no list.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { fieldsOf, type Fields, integerText } from '../base/json.ts';
import { maxListPages, maxSchemaDepth, maxToolsWithHeaders } from '../base/limits.ts';
import type { Answer, JSONRPCRequest } from '../base/messages.ts';

interface ParamHeader {
  readonly header: string;
  readonly path: readonly string[];
}

/** RFC 9110 §5.1. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** A number has no one text. */
const headerTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/** Where a schema has others in it by which no property is found for sure. */
const schemaKeywords = [
  'items',
  'prefixItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
];

/** As above, each with schemas under names. */
const namedSchemaKeywords = ['patternProperties', 'dependentSchemas', '$defs', 'definitions'];

/** Of the stateless revision: the headers are missing or say something else than the body. The request did not run. */
const headerMismatch = -32_020;

export class ParamHeaders {
  readonly #tools = new Map<string, readonly ParamHeader[]>();
  #isListed = false;
  #listing: Promise<void> | undefined;
  readonly #tell: (problem: KeyturnError) => void;
  #hasTold = false;

  constructor(tell: (problem: KeyturnError) => void) {
    this.#tell = tell;
  }

  /** The answer as the client gets it. */
  learn({ method, params }: JSONRPCRequest, answer: Answer): Answer {
    if (method !== 'tools/list' || !('result' in answer)) return answer;
    const { tools, nextCursor } = answer.result;
    if (!Array.isArray(tools)) return answer;
    if (isLast(nextCursor) || nextCursor === params?.['cursor']) this.#isListed = true;
    const kept = tools.filter((tool: unknown) => this.#take(fieldsOf(tool)));
    return kept.length === tools.length ? answer : { ...answer, result: { ...answer.result, tools: kept } };
  }

  /** Lists the tools, where none was listed yet or the last list `isStale`: once for all calls that wait for it. */
  async list(
    { method, params }: JSONRPCRequest,
    send: (params: Fields) => Promise<Answer>,
    { isStale = false } = {},
  ): Promise<void> {
    if (method !== 'tools/call' || (this.#isListed && !isStale)) return;
    const { progressToken: _token, ...meta } = fieldsOf(fieldsOf(params)['_meta']);
    // Without a list the call goes without these headers, and gets the server's own answer.
    this.#listing ??= this.#pages(async (page) => send({ ...page, _meta: meta })).catch(() => undefined);
    await this.#listing;
    this.#listing = undefined;
  }

  isMismatch({ method }: JSONRPCRequest, answer: Answer): boolean {
    return method === 'tools/call' && 'error' in answer && answer.error.code === headerMismatch;
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

  async #pages(send: (page: Fields) => Promise<Answer>): Promise<void> {
    const seen = new Set<unknown>();
    let cursor: unknown;
    while (seen.size < maxListPages) {
      const answer = await send(cursor === undefined ? {} : { cursor });
      cursor = 'result' in answer ? answer.result['nextCursor'] : undefined;
      if (isLast(cursor) || seen.has(cursor)) break;
      seen.add(cursor);
    }
    // A server that lists no tools is not asked for them before each call.
    this.#isListed = true;
  }

  #take({ name, inputSchema }: Fields): boolean {
    if (typeof name !== 'string') return true;
    this.#tools.delete(name);
    const declared = declaredIn(inputSchema);
    if (!declared) return this.#leaveOut(name);
    if (declared.length > 0) this.#tools.set(name, declared);
    const [oldest] = this.#tools.keys();
    if (this.#tools.size > maxToolsWithHeaders && oldest !== undefined) this.#tools.delete(oldest);
    return true;
  }

  #leaveOut(name: string): false {
    if (!this.#hasTold) {
      this.#tell(
        new KeyturnError(
          'mcp_server_unreachable',
          `The server’s tool ${quoted(name)} declares headers for its arguments in a way that the protocol forbids, so the bridge leaves it out, and every other such tool.`,
          { hint: 'Tell the server’s operator (x-mcp-header).' },
        ),
      );
    }
    this.#hasTold = true;
    return false;
  }
}

/** Undefined: the revision forbids one of the declarations. They are at any depth, by chains of `properties` alone. */
function declaredIn(schema: unknown): readonly ParamHeader[] | undefined {
  const found = new Map<string, ParamHeader>();
  const visit = (node: unknown, path: readonly string[], isChain: boolean, depth: number): boolean => {
    if (typeof node !== 'object' || node === null || depth > maxSchemaDepth) return true;
    const fields = fieldsOf(node);
    const { 'x-mcp-header': header, type } = fields;
    if (header !== undefined) {
      const isPlaced = isChain && path.length > 0 && headerTypes.has(type);
      if (!isPlaced || typeof header !== 'string' || !token.test(header)) return false;
      if (found.has(header.toLowerCase())) return false;
      found.set(header.toLowerCase(), { header, path });
    }
    const properties = Object.entries(fieldsOf(fields['properties']));
    const others = [
      ...schemaKeywords.flatMap((keyword) => fields[keyword] ?? []),
      ...namedSchemaKeywords.flatMap((keyword) => Object.values(fieldsOf(fields[keyword]))),
    ];
    return (
      properties.every(([key, child]) => visit(child, [...path, key], isChain, depth + 1)) &&
      others.every((child) => visit(child, path, false, depth + 1))
    );
  };
  return visit(schema, [], true, 0) ? [...found.values()] : undefined;
}

/** Servers end a list with an empty cursor in each of these ways. */
const isLast = (cursor: unknown): boolean => cursor === undefined || cursor === null || cursor === '';

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  return integerText(value);
}

/** As it is where it is a plain field value; else in base64, marked as such. */
export function encoded(value: string): string {
  const isPlain =
    /^[\t\x20-\x7e]+$/.test(value) && value === value.trim() && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
