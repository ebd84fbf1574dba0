/** The map for what strangers make grow. */
import { expect, it } from 'vitest';
import { BoundedMap } from '../../../src/server/resource/base/bounded-map.ts';

it('a bounded map drops its oldest entry for a new one', () => {
  const map = new BoundedMap<string>(2, () => 0);
  map.set('a', 'one', 10);
  map.set('b', 'two', 10);
  map.set('b', 'three', 10);
  expect(map.get('a')).toBe('one');
  map.set('a', 'four', 10);
  map.set('c', 'five', 10);
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual(['four', undefined, 'five']);
});
