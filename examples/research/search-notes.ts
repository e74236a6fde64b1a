import { tool } from 'holdfast';
import { z } from 'zod';
import { search } from './corpus.ts';

export const searchNotes = tool({
  name: 'search_notes',
  description: 'Finds lines of the notes by words, the best first, each with its source.',
  parameters: z.object({
    words: z.array(z.string().min(3)).min(1).max(6),
    most: z.int().min(1).max(10).default(4).describe('how many lines at most'),
  }),
  summary: ({ words }) => (Array.isArray(words) ? words.join(', ') : ''),
  isReadOnly: true,
  execute: ({ words, most }) => ({ passages: search(words, most) }),
});
