/** Servers and other places that a file or a test opens, and that end with it. */
import { afterAll, beforeAll, onTestFinished } from 'vitest';

/** At the top of a file. What it answers is filled in before the first test. */
export function ofFile<T extends { close(): unknown }>(open: () => Promise<T>): T {
  const place = {} as T;
  beforeAll(async () => void Object.assign(place, await open()));
  afterAll(async () => void (await place.close()));
  return place;
}

/** What one test uses ends with it. */
export async function ofTest<T extends { close(): unknown }>(opening: Promise<T>): Promise<T> {
  const place = await opening;
  onTestFinished(async () => void (await place.close()));
  return place;
}
