/**
 * Tools that an entry of a client's configuration leaves out, by name or pattern.
 *
 * Invariant: a tool that is left out is in no list that the client gets, and a call of it never reaches the server.
 * It is a convenience of the client's side and no wall: another program may call the tool.
 */
import { fieldsOf } from './base/json.ts';
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
    if (method !== 'tools/call' || !this.#leavesOut(params)) return undefined;
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
    const kept = tools.filter((tool: unknown) => !this.#leavesOut(tool));
    return { ...answer, result: { ...answer.result, tools: kept } };
  }

  #leavesOut(tool: unknown): boolean {
    const { name } = fieldsOf(tool);
    return typeof name === 'string' && this.#patterns.some((pattern) => pattern.test(name));
  }
}

const literal = (text: string): string => text.replace(/\W/g, String.raw`\$&`);
