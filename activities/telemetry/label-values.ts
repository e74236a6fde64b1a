const OTHER = '_OTHER';
const MOST_VALUES = 200;
const LONGEST = 200;

/**
 * Clients name apps and agents, and each value of a label is a time series that is kept for good: beyond a few hundred
 * values of one label, the others count as one.
 */
export class LabelValues {
  readonly #known = new Map<string, Set<string>>();

  bounded(labels: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(labels).map(([label, value]) => [label, this.#taken(label, value)]),
    );
  }

  #taken(label: string, value: string): string {
    const known = this.#known.get(label) ?? new Set();
    this.#known.set(label, known);
    if (known.has(value)) return value;
    if (known.size >= MOST_VALUES || value.length > LONGEST) return OTHER;
    known.add(value);
    return value;
  }
}
