/**
 * Tools that an entry of a client's configuration leaves out, by name or pattern.
 *
 * Invariant: a tool that is left out is in no list that the client gets, and a call of it never reaches the server.
 * It is a convenience of the client's side and no wall: another program may call the tool.
 */
import type { Answer, JSONRPCRequest, RpcError } from './base/messages.ts';

export class ToolFilter {
  readonly #patterns: readonly RegExp[];

  /** `*` stands for any characters. Case doesn't count, as with mcp-remote. */
  constructor(patterns: readonly string[]) {
    this.#patterns = patterns.map(
      (pattern) => new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`, 'is'),
    );
  }

  refusal({ method, params }: JSONRPCRequest): RpcError | undefined {
    const name = params?.['name'];
    if (method !== 'tools/call' || typeof name !== 'string' || !this.#leavesOut(name)) return undefined;
    return {
      code: -32_602,
      message:
        'Keyturn: this entry of the configuration leaves the tool out (--ignore-tool). The call did not run.',
    };
  }

  filtered({ method }: JSONRPCRequest, answer: Answer): Answer {
    if (method !== 'tools/list' || !('result' in answer) || this.#patterns.length === 0) return answer;
    const { tools } = answer.result;
    if (!Array.isArray(tools)) return answer;
    const kept = tools.filter((tool: unknown) => !this.#leavesOut(nameOf(tool)));
    return { ...answer, result: { ...answer.result, tools: kept } };
  }

  #leavesOut(name: string): boolean {
    return this.#patterns.some((pattern) => pattern.test(name));
  }
}

function nameOf(tool: unknown): string {
  return typeof tool === 'object' && tool !== null && 'name' in tool && typeof tool.name === 'string'
    ? tool.name
    : '';
}

const literal = (text: string): string => text.replace(/\W/g, String.raw`\$&`);
