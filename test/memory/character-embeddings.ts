import { createHash } from 'node:crypto';
import type { Embeddings } from '../../src/memory/embeddings.ts';

/** Embeddings by the groups of three and four characters of a text: near to one another are texts with like words. */
export function characterEmbeddings(dimensions = 512): Embeddings {
  return {
    model: `characters/${dimensions}`,
    embed: async (texts) => texts.map((text) => vectorOf(text, dimensions)),
  };
}

function vectorOf(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  const letters = [...` ${text.normalize('NFKC').toLowerCase()} `];
  for (const size of [3, 4]) {
    for (let start = 0; start + size <= letters.length; start += 1) {
      const digest = createHash('md5')
        .update(letters.slice(start, start + size).join(''))
        .digest();
      const index = digest.readUInt32LE(0) % dimensions;
      vector[index] = (vector[index] ?? 0) + (digest.readUInt8(4) % 2 === 0 ? 1 : -1);
    }
  }
  return vector.some((value) => value !== 0) ? vector : vector.with(0, 1);
}
