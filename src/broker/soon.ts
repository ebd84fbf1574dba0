/**
 * What is there at once if nothing has to be waited for, and else is promised.
 *
 * A token in memory comes through the whole broker as a plain value. Promises around it would take as long as all the
 * checks, and several times their memory.
 */
export type Soon<T> = T | Promise<T>;

/** Goes on with the value, at once if it is there. */
export function whenThere<T, U>(value: Soon<T>, goOn: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
