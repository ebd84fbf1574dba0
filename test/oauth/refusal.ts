/** Catching a refusal, to look at its reason, its class and what its words must not hold. */
import { KeyturnError } from '../../src/base/errors.ts';

/** The KeyturnError that `action` throws or rejects with; anything else fails the test. */
export async function refusalOf(action: () => unknown): Promise<KeyturnError> {
  try {
    await action();
  } catch (error) {
    if (error instanceof KeyturnError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** Everything of an error that may reach a log: message, hint, stack and the chain of causes. */
export function everyWordOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const hint = error instanceof KeyturnError ? (error.hint ?? '') : '';
  return [error.message, hint, error.stack, everyWordOf(error.cause)].join('\n');
}
