/** When a command tells what its request waits for. */
import { expect, it, vi } from 'vitest';
import { watchLater } from '../../../src/cli/waiting/watch-later.ts';
import type { Connection } from '../../../src/client/connection.ts';

it.each(['allow', 'never'] as const)('tells where a request waits only if it may wait: %s', (interaction) => {
  vi.useFakeTimers();
  vi.stubEnv('KEYTURN_SOCKET', '/run/keyturn-ab/box.sock');
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  watchLater({} as Connection, { resource: 'https://notes.example/mcp', interaction });
  vi.runAllTimers();
  const { length } = said.mock.calls;
  said.mockRestore();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  expect(length).toBe(interaction === 'allow' ? 1 : 0);
});
