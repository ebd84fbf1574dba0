/** How a card spells an address, whatever a command typed. */
import { expect, it } from 'vitest';
import { spelled } from '../../../src/daemon/system/spelling.ts';

it.each([
  ['https://Notes.Example', 'https://notes.example'],
  ['https://notes.example:443/a/../mcp', 'https://notes.example/mcp'],
  // A Cyrillic "о".
  ['https://n\u043etes.example/', 'https://xn--ntes-55d.example/'],
  ['https://notes.example/mcp/', 'https://notes.example/mcp/'],
  ['no address', 'no address'],
])('the address %s is spelled %s', (typed, shown) => expect(spelled(typed)).toBe(shown));
