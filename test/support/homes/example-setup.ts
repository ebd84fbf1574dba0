/** The apps on the computer of the user of example-desk.ts, as the window that connects them shows them. */
import type { ResultOn } from '../../../electron/bridge/channels.ts';

/** Apps on this computer of each kind: one that can be connected, one with a key in the open, one that stays. */
export const exampleLook: ResultOn<'setup.look'> = {
  look: 'look-1',
  runs: 1,
  command: '/usr/bin/keyturn',
  clients: [
    {
      title: 'Cursor',
      file: '/home/anna/.cursor/mcp.json',
      entries: [
        {
          id: 'e1',
          name: 'notes',
          kind: 'switch',
          endpoint: 'https://notes.example/mcp',
          change: [
            '-      "url": "https://notes.example/mcp",',
            '-      "headers": { "X-Api-Key": "***" }',
            '+      "command": "/usr/bin/keyturn",',
            '+      "args": ["bridge", "https://notes.example/mcp", "--as", "cursor-notes"]',
          ],
          exposed: ['X-Api-Key'],
        },
        { id: 'e2', name: 'mail', kind: 'bridge', exposed: [] },
      ],
    },
    {
      title: 'Codex',
      file: '/home/anna/.codex/config.toml',
      entries: [
        {
          id: 'e3',
          name: 'tickets',
          kind: 'left',
          why: 'its configuration format is not supported',
          exposed: ['Authorization'],
        },
      ],
    },
  ],
};
