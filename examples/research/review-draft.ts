import { tool } from 'holdfast';
import { z } from 'zod';
import { isSource } from './corpus.ts';

const LONGEST_DRAFT = 90;
const FIGURE = /\d/;
const SOURCE = /\[([\w-]+\.md:\d+)\]/g;

/** What can be said of a draft by counting. */
export function review(draft: string): { words: number; problems: string[] } {
  const text = draft.replaceAll(SOURCE, '');
  const words = text.split(/\s+/).filter((word) => word !== '').length;
  const unsourced = draft
    .split('\n')
    .filter((line) => FIGURE.test(line.replaceAll(SOURCE, '')) && line.match(SOURCE) === null);
  const unknown = [...draft.matchAll(SOURCE)].flatMap(([, source = '']) =>
    isSource(source) ? [] : [source],
  );
  return {
    words,
    problems: [
      ...unsourced.map((line) => `a figure without its source: ${line}`),
      ...unknown.map((source) => `no such source: ${source}`),
      ...(words > LONGEST_DRAFT ? [`${words} words, of at most ${LONGEST_DRAFT}`] : []),
    ],
  };
}

export const reviewDraft = tool({
  name: 'review_draft',
  description: 'Counts the words of a draft, and finds figures without a source like [budget.md:3].',
  parameters: z.object({ draft: z.string().min(1) }),
  summary: ({ draft }) => `${String(draft).split(/\s+/).length} words`,
  isReadOnly: true,
  execute: ({ draft }) => review(draft),
});
