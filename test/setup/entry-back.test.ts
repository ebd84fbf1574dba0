/** An entry goes back by its values, however a client writes them by now. */
import { expect, it } from 'vitest';
import { entryBack } from '../../src/setup/entry-back.ts';

const before = { type: 'http', url: 'https://notes.example/mcp', headers: { 'X-Api-Key': 'k' } };
const after = { type: 'stdio', command: '/bin/keyturn', args: ['bridge', before.url, '--as', 'a'] };
const entry = {
  way: ['mcpServers', 'notes'],
  before: JSON.stringify(before, undefined, 2),
  after: JSON.stringify(after, undefined, 4),
};
const fileWith = (notes: object): string => JSON.stringify({ mcpServers: { notes }, more: 1 });
const back = (notes: object) => {
  const { standing, text } = entryBack('json', fileWith(notes), entry);
  return { standing, notes: (JSON.parse(text) as { mcpServers: { notes: object } }).mcpServers.notes };
};

it.each([
  ['its own white space', after, before],
  ['another order', Object.fromEntries(Object.entries(after).toReversed()), before],
  ['a member that it added', { ...after, disabled: true }, { ...before, disabled: true }],
  ['another path of Keyturn', { ...after, command: '/lib/node', args: ['/k.js', ...after.args] }, before],
  ['an empty env, which means nothing beside a URL', { ...after, env: {} }, before],
])('an entry goes back though the client saved it with %s', (_what, saved, expected) => {
  expect(back(saved)).toEqual({ standing: 'reversed', notes: expected });
});

it('an entry goes back and keeps what the client has changed in it where setup changed nothing', () => {
  const way = ['mcp_servers', 'notes'];
  const others = ['timeout = 30 # x', 'odd = "x"', 'tools = ["a"]', '', '[mcp_servers.notes.env]', 'A = "b"'];
  const texts = {
    before: ['[mcp_servers.notes]', `url = "${before.url}"`, ...others].join('\n'),
    after: ['[mcp_servers.notes]', 'command = "a"', 'wait = 30', 'args = ["bridge"]', ...others].join('\n'),
  };
  const moved = texts.after.replace('wait = 30', 'wait = 60').replace('30 # x', '30.0');
  const now = moved.replace('odd = "x"\n', '').replace('["a"]', '["a", "c"]');
  expect(entryBack('toml', now, { way, ...texts })).toEqual({
    standing: 'reversed',
    text: texts.before.replace('30 #', '30.0 #').replace('odd = "x"\n', '').replace('["a"]', '["a", "c"]'),
  });
  const added = now.replace('timeout = 30.0', 'timeout = 60\nenabled = false\nat = 2026-11-29');
  expect(entryBack('toml', added, { way, ...texts }).text.split('\n')).toEqual([
    '[mcp_servers.notes]',
    `url = "${before.url}"`,
    'enabled = false',
    'at = 2026-11-29',
    'timeout = 60 # x',
    'tools = ["a", "c"]',
    ...others.slice(3),
  ]);
  // What can't be written again is no reason to fail.
  const unread = now.replace('timeout = 30.0', "timeout = 30\ntext = '''\nx'''");
  expect(entryBack('toml', unread, { way, ...texts })).toEqual({ standing: 'reversed', text: texts.before });
  for (const other of [now.replace('A = "b"', 'A = "c"'), now.replace('"bridge"', '"bridge", "u"')])
    expect(entryBack('toml', other, { way, ...texts })).toEqual({ standing: 'left', text: other });
});

it('an entry that says something else stays, and one that is back counts as none', () => {
  const other = { ...after, args: ['bridge', 'https://other.example/mcp', '--as', 'a'] };
  expect(back(other)).toEqual({ standing: 'left', notes: other });
  expect(back(before)).toEqual({ standing: 'back', notes: before });
  expect(entryBack('json', '{}', entry)).toEqual({ standing: 'gone', text: '{}' });
});

it.each([
  ['\n', '\r\n'],
  ['\r\n', '\n'],
])('an entry goes back with the line ends of its file: %j, then %j', (old, now) => {
  const way = ['mcp_servers', 'notes'];
  const lines = (...own: string[]): string => ['[mcp_servers.notes]', ...own].join(old);
  const texts = {
    before: lines(`url = "${before.url}"`),
    after: lines('command = "a"', 'args = ["bridge"]'),
  };
  const file = `# mine${now}${texts.after.replaceAll(old, now)}${now}`;
  const { text } = entryBack('toml', file, { way, ...texts });
  expect(text).toBe(`# mine${now}${texts.before.replaceAll(old, now)}${now}`);
});
