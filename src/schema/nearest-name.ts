/**
 * The name that somebody who wrote `name` most likely meant: at most a third of its letters off, case aside.
 *
 * @example nearestName('time_out', ['timeout', 'retry']) // 'timeout'
 */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3));
  let nearest: string | undefined;
  let least = limit + 1;
  for (const candidate of names) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const nearest = nearestName(name, names);
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`;
}

function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
