/**
 * What the protected server of `keyturn dev-server` protects: one notebook for each account.
 *
 * Invariant: a tool sees the notebook that came with its request, and no other.
 */
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { maxNoteLength, type Notes } from './notes.ts';

/** The scopes of the notebook, each with its sentence for the consent page. */
export const notebookScopes = {
  'notes:read': 'Read your notes',
  'notes:write': 'Change your notes',
} as const;

/** The scopes that each tool needs. */
export const toolScopes = { 'list-notes': ['notes:read'], 'add-note': ['notes:write'] } as const;

/** What a request brings to its tool, beside the claims of its token. */
const withNotes = z.object({
  notes: z.custom<Notes>((value) => typeof value === 'object' && value !== null),
});

/** Answers the protocol's messages, in either era. A request brings its `Notes` in `authInfo.extra.notes`. */
export function notebook(): ReturnType<typeof createMcpHandler> {
  return createMcpHandler(() => {
    const server = new McpServer({ name: 'keyturn-notebook', version: '1.0.0' });
    server.registerTool(
      'list-notes',
      { description: 'Lists the notes of the signed-in account.' },
      async ({ http }) => {
        const { notes } = withNotes.parse(http?.authInfo?.extra);
        return text({ account: notes.account, notes: await notes.list() });
      },
    );
    server.registerTool(
      'add-note',
      {
        description: 'Adds a note for the signed-in account.',
        inputSchema: z.object({ note: z.string().max(maxNoteLength) }),
      },
      async ({ note }, { http }) => {
        const { notes } = withNotes.parse(http?.authInfo?.extra);
        return text({ account: notes.account, notes: await notes.add(note) });
      },
    );
    return server;
  });
}

function text(value: unknown) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }] };
}
