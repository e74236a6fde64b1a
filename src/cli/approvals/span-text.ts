const UNITS: [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** A time span in its two largest units: `2 d 3 h`, `5 min`, `12 s`. */
export function spanText(ms: number): string {
  let left = Math.max(0, ms);
  const words: string[] = [];
  for (const [name, size] of UNITS) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) words.push(`${count} ${name}`);
    else if (words.length > 0) break;
    if (words.length === 2) break;
  }
  return words.join(' ') || '0 s';
}
