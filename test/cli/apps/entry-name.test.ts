/** The name of an entry that was given none. */
import { describe, expect, it } from 'vitest';
import { entryName, nameOfServer } from '../../../src/cli/apps/entry-name.ts';

const named = (url: string, program = 'claude'): string => entryName(new URL(url), program);

describe('an entry without a name', () => {
  it('is called by its server and the program that starts it, always the same', () => {
    expect(named('https://notes.example/mcp')).toMatch(/^notes\.example-mcp-claude-[0-9a-f]{6}$/);
    expect(named('https://notes.example/mcp')).toBe(named('https://notes.example/mcp'));
  });

  it.each([
    ['https://notes.example/a-b', 'https://notes.example/a/b'],
    ['https://notes.example/?a', 'https://notes.example/?b'],
    [`https://notes.example/${'a'.repeat(80)}1`, `https://notes.example/${'a'.repeat(80)}2`],
  ])('is never called as one of another server: %s and %s', (one, other) => {
    expect(named(one)).not.toBe(named(other));
  });

  it.each([
    [`https://${'long.'.repeat(20)}example/${'path/'.repeat(30)}`, 'a very long name of a program'],
    ['https://[::1]:8443/', '.hidden'],
    ['https://notes.example/%C3%A4', '—'],
  ])('has a name that a program can pair under: %s, %s', (url, program) => {
    expect(named(url, program)).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
  });

  it('takes the program from the process that started it', () => {
    expect(entryName(new URL('https://notes.example/'))).toMatch(/^notes\.example-[\w.-]+-[0-9a-f]{6}$/);
  });
});

it.each([
  ['https://notes.example/mcp', 'notes.example-mcp'],
  ['https://notes.example/', 'notes.example'],
  ['https://notes.example/a/b', 'notes.example-a-b'],
  ['https://notes.example/a-b', /^notes\.example-a-b-[0-9a-f]{6}$/],
  ['https://notes.example/a/b/', /^notes\.example-a-b-[0-9a-f]{6}$/],
  ['https://notes.example/a/b?c', /^notes\.example-a-b-[0-9a-f]{6}$/],
  ['http://localhost:8080/mcp', /^localhost-8080-mcp-[0-9a-f]{6}$/],
  [`https://notes.example/${'a'.repeat(80)}`, /^notes\.example-a{43}-[0-9a-f]{6}$/],
])('an entry is called by its server, marked where another could be called so: %s', (url, name) => {
  expect(nameOfServer(new URL(url))).toEqual(
    typeof name === 'string' ? name : (expect.stringMatching(name) as string),
  );
});
