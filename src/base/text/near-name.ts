/**
 * Guesses which name the user meant when they mistyped one.
 *
 * Invariant: there is a guess only if one name is nearer than all others. It is text for a hint; no code acts on it.
 */

/** Letters inserted, removed or replaced; two swapped letters count as two. */
const maxDistance = 2;

/** "Did you mean …? " with the one of `names` that is nearest to `text`; empty if none is near or several are. */
export function didYouMean(text: string, names: readonly string[]): string {
  const name = nearestName(text, names);
  return name === undefined ? '' : `Did you mean ${name}? `;
}

export function nearestName(text: string, names: readonly string[]): string | undefined {
  const [nearest, next] = names
    .map((name) => ({ name, distance: editDistance(text, name) }))
    .filter(({ name, distance }) => distance <= Math.min(maxDistance, name.length / 2))
    .toSorted((one, other) => one.distance - other.distance);
  return nearest && nearest.distance !== next?.distance ? nearest.name : undefined;
}

/** The Levenshtein distance, row by row. */
function editDistance(one: string, other: string): number {
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
