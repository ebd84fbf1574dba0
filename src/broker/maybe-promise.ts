/**
 * A value at once if nothing has to be waited for, else a promise of it.
 *
 * A token in memory passes through the whole broker as a plain value. Promises around it would take as long as all the
 * checks, and several times their memory.
 */
export type MaybePromise<T> = T | Promise<T>;

/** `fn` of the value, without a wait if there is no promise. */
export function mapMaybe<T, U>(value: MaybePromise<T>, fn: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(fn) : fn(value);
}
