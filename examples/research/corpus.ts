import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Passage {
  /** File and line, as a report names it. */
  source: string;
  text: string;
}

const folder = join(import.meta.dirname, 'corpus');

let read: Passage[] | undefined;

/** Each line of the notes that says something. */
function passages(): Passage[] {
  read ??= readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .flatMap((name) =>
      readFileSync(join(folder, name), 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          line.startsWith('- ') ? [{ source: `${name}:${index + 1}`, text: line.slice(2).trim() }] : [],
        ),
    );
  return read;
}

/** Passages with one of the words, those with the most of them first. */
export function search(words: readonly string[], most: number): Passage[] {
  const wanted = words.map((word) => word.toLowerCase());
  return passages()
    .map((passage) => ({ passage, hits: hitsOf(`${passage.source} ${passage.text}`.toLowerCase(), wanted) }))
    .filter(({ hits }) => hits > 0)
    .sort((one, other) => other.hits - one.hits)
    .slice(0, most)
    .map(({ passage }) => passage);
}

/** Whether there is such a line. */
export function isSource(source: string): boolean {
  return passages().some((passage) => passage.source === source);
}

function hitsOf(text: string, words: readonly string[]): number {
  return words.filter((word) => text.includes(word)).length;
}
