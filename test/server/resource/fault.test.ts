/** What an operator reads of a fault. */
import { expect, it } from 'vitest';
import { shownFault } from '../../../src/server/resource/base/fault.ts';

const own = (changes: object) => Object.assign(new Error('no base'), changes);
const unnamed = 'thrown: a value that has no words';

it.each<[unknown, string]>([
  [own({ message: { error: 'x' } }), 'Error: "[object Object]" at '],
  [own({ message: undefined }), 'Error: "undefined" at '],
  [own({ stack: null }), 'Error: "no base"'],
  [own({ cause: own({ message: 5 }) }), 'Error: "no base" ("5") at '],
  [own({ message: Object.create(null) as unknown }), unnamed],
  [Object.create(null), unnamed],
])('a fault of any form is told: %#', (thrown, told) => {
  expect(shownFault(thrown).slice(0, told.length)).toBe(told);
});
