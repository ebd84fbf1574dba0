/** The tables of docs/servers/ have a row for each option of the server roles. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { page, root, tableRows } from './pages.ts';

it.each([
  ['authorization-server', '', 'authorization/options.ts', 'AuthorizationServerOptions'],
  ['protected-server', '', 'resource/options.ts', 'ProtectedServerOptions'],
  ['protected-server', '', 'resource/tokens/jwt.ts', 'JwtOptions'],
  ['protected-server', '', 'resource/tokens/introspection.ts', 'IntrospectionOptions'],
  ['third-party', 'upstream.', 'third-party/options.ts', 'UpstreamOptions'],
  ['third-party', 'session.', 'third-party/options.ts', 'SessionOptions'],
])('docs/servers/%s.md has a row for each %soption of %s: %s', (name, part, file, options) => {
  const rows = tableRows(page(`docs/servers/${name}.md`).text).map(([cell = '']) => cell.replaceAll('`', ''));
  const source = readFileSync(path.join(root, 'src/server', file), 'utf8');
  const [, after = ''] = source.split(`export interface ${options} {\n`);
  const [body = ''] = after.split('\n}\n');
  const stated = [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, option]) => `${part}${option}`);
  expect(stated.length).toBeGreaterThan(3);
  expect(stated.filter((option) => !rows.includes(option))).toEqual([]);
});
