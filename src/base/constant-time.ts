/** Whether two texts are equal, in a time that tells no more than their lengths. */
import { timingSafeEqual } from 'node:crypto';

export function constantTimeEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
