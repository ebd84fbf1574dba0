/**
 * The name that a mistyped one may have meant.
 *
 * Invariant: a guess is only made where a single name is nearest, and only for a hint: nobody acts on it.
 */

/** Letters inserted, removed or replaced; two that changed places count as two. */
const maxDistance = 2;

/** "Did you mean …? " for the one of `names` that is nearest to `text`; empty where none is near, or several are. */
export function didYouMean(text: string, names: readonly string[]): string {
  const [nearest, next] = names
    .map((name) => ({ name, distance: editDistance(text, name) }))
    .filter(({ name, distance }) => distance <= Math.min(maxDistance, name.length / 2))
    .toSorted((one, other) => one.distance - other.distance);
  return nearest && nearest.distance !== next?.distance ? `Did you mean ${nearest.name}? ` : '';
}

/** Levenshtein's, row by row. */
export function editDistance(one: string, other: string): number {
  const letters = Array.from(other);
  let row = letters.map((_, index) => index + 1);
  for (const [above, letter] of Array.from(one).entries()) {
    let diagonal = above;
    let left = above + 1;
    row = letters.map((another, index) => {
      const up = row[index] ?? 0;
      left = Math.min(up + 1, left + 1, diagonal + (letter === another ? 0 : 1));
      diagonal = up;
      return left;
    });
  }
  return row.at(-1) ?? Array.from(one).length;
}
