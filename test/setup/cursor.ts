/** The file of one client, as setup reads and changes it. */
import { configFiles, type ConfigFile } from '../../src/setup/clients.ts';
import { applied } from '../../src/setup/formats/edit.ts';
import { findingsIn, type Finding, type Switch } from '../../src/setup/plan.ts';

const files = configFiles({ home: '/home/ada', project: '/work/notes', env: {}, platform: 'linux' });

/** The Keyturn that setup writes into entries. */
export const own = { words: ['/bin/node', '/lib/keyturn.js'], env: {} } as const;
export const endpoint = 'https://notes.example/mcp';

export function fileOf(client: string, scope = 'user'): ConfigFile {
  const found = files.find((file) => file.client === client && file.level === scope);
  if (!found) throw new Error(`no ${scope} file of ${client}`);
  return found;
}

/** What setup finds in a file with this text, and the file after its changes. */
export function read(client: string, text: string): { findings: readonly Finding[]; after: string } {
  const found = findingsIn(fileOf(client), text, own);
  const findings = typeof found === 'string' ? [] : found;
  const edits = findings.flatMap((finding) => (finding.kind === 'switch' ? finding.edits : []));
  return { findings, after: applied(text, edits) };
}

/** The file of Cursor with this one entry. */
export const entered = (notes: object): string => JSON.stringify({ mcpServers: { notes } });

/** An entry that would be switched. */
export const switchOf = (fields: Partial<Switch>): Switch => ({
  kind: 'switch',
  entry: 'notes',
  keyPath: [],
  as: 'x',
  endpoint,
  edits: [],
  shown: [],
  ...fields,
});
