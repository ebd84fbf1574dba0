/**
 * What the MCP server protects: one notebook for each account.
 *
 * Invariant: a tool sees the notebook of the token's subject and no other.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { z } from 'zod';

/** Notes by subject. Lives as long as the server. */
export type Notebooks = Map<string, string[]>;

/** The scopes that each tool needs. */
export const toolScopes: ReadonlyMap<string, readonly string[]> = new Map([
  ['list-notes', ['notes:read']],
  ['add-note', ['notes:write']],
]);

/** All scopes of the tools, for an authorization server's list. */
export const notebookScopes: readonly string[] = [...new Set([...toolScopes.values()].flat())];

/** Longest note, in characters: this is a demo, not a store. */
const maxNoteLength = 1000;

const subject = z.object({ sub: z.string() });

/** `list-notes` answers JSON text: `{account, notes}`; `add-note` the same after adding. */
export function notebookServer(notebooks: Notebooks): McpServer {
  const server = new McpServer({ name: 'keyturn-demo-notebook', version: '1.0.0' });
  server.registerTool('list-notes', { description: 'Lists the notes of the signed-in account.' }, (extra) => {
    const account = accountOf(extra.authInfo);
    return text({ account, notes: notebooks.get(account) ?? [] });
  });
  server.registerTool(
    'add-note',
    {
      description: 'Adds a note for the signed-in account.',
      inputSchema: { note: z.string().max(maxNoteLength) },
    },
    ({ note }, extra) => {
      const account = accountOf(extra.authInfo);
      const notes = [...(notebooks.get(account) ?? []), note];
      notebooks.set(account, notes);
      return text({ account, notes });
    },
  );
  return server;
}

function accountOf(auth: AuthInfo | undefined): string {
  return subject.parse(auth?.extra).sub;
}

function text(value: unknown) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }] };
}
