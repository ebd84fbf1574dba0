/**
 * What the protected server of `keyturn serve` protects: one notebook for each account.
 *
 * Invariant: a tool sees the notebook of the token's subject and no other. Notes live as long as the process.
 */
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** The scopes of the notebook, each with its sentence for the consent page. */
export const notebookScopes = {
  'notes:read': 'Read your notes',
  'notes:write': 'Change your notes',
} as const;

/** The scopes that each tool needs. */
export const toolScopes = { 'list-notes': ['notes:read'], 'add-note': ['notes:write'] } as const;

/** Longest note, in characters, and how many an account may have: this is a trial, not a store. */
const maxNoteLength = 1000;
const maxNotes = 100;

const subject = z.object({ sub: z.string() });

/** Answers the protocol's messages, in either era. */
export function notebook(): ReturnType<typeof createMcpHandler> {
  const notes = new Map<string, readonly string[]>();
  return createMcpHandler(() => {
    const server = new McpServer({ name: 'keyturn-notebook', version: '1.0.0' });
    server.registerTool(
      'list-notes',
      { description: 'Lists the notes of the signed-in account.' },
      ({ http }) => {
        const account = accountOf(http?.authInfo?.extra);
        return text({ account, notes: notes.get(account) ?? [] });
      },
    );
    server.registerTool(
      'add-note',
      {
        description: 'Adds a note for the signed-in account.',
        inputSchema: z.object({ note: z.string().max(maxNoteLength) }),
      },
      ({ note }, { http }) => {
        const account = accountOf(http?.authInfo?.extra);
        const kept = [...(notes.get(account) ?? []), note].slice(-maxNotes);
        notes.set(account, kept);
        return text({ account, notes: kept });
      },
    );
    return server;
  });
}

function accountOf(extra: unknown): string {
  return subject.parse(extra).sub;
}

function text(value: unknown) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }] };
}
