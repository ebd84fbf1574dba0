/** Which questions a waiting command shows: those that its own request waits for. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { watchQuestions } from '../../src/cli/watch.ts';

const origin = 'https://notes.example';

let stderr: string;
beforeEach(() => {
  stderr = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((stderr += text)));
});
afterEach(() => vi.restoreAllMocks());

/** A broker at which these questions about the command line wait. */
function brokerWith(...questions: { readonly [name: string]: unknown }[]) {
  const interactions = questions.map((question) => ({ kind: 'allow', client: 'cli', ...question }));
  return {
    capabilities: [],
    request: (): Promise<unknown> => Promise.resolve({ interactions }),
    onNotification: () => () => undefined,
  };
}

describe('a command that waits for a permission', () => {
  it('shows its own question, not one about the whole server or another part of it', async () => {
    const broker = brokerWith(
      { id: 'aaaaaaaa', resource: origin },
      { id: 'bbbbbbbb', resource: `${origin}/mcp` },
      { id: 'cccccccc', resource: `${origin}/mcp/inner` },
    );
    await watchQuestions(broker, { resource: `${origin}/mcp/` });
    expect(stderr.match(/keyturn answer \w+/g)).toEqual(['keyturn answer bbbbbbbb']);
  });

  it('shows none that names more scopes than it asked for, unless it is its own', async () => {
    const resource = `${origin}/mcp`;
    const broker = brokerWith(
      { id: 'aaaaaaaa', resource, scope: 'read write' },
      { id: 'bbbbbbbb', resource },
      { id: 'cccccccc', resource, scope: 'read' },
      { id: 'dddddddd', resource, scope: 'read list', asker: { pid: process.pid } },
    );
    await watchQuestions(broker, { resource, scope: 'read' });
    expect(stderr.match(/keyturn answer \w+/g)).toEqual([
      'keyturn answer cccccccc',
      'keyturn answer dddddddd',
    ]);
  });
});
