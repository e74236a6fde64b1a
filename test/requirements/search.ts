import type { Rows } from './row.ts';

/** Documents that agents search. */
export const SEARCH: Rows = {
  'search.documents': [
    'hector: searchtool',
    'Passages of documents are found in all scripts, each with its document, its place and a score.',
  ],
  'search.recall': ['holdfast', 'Passages that answer a question are among the first five, in five scripts.'],
  'search.whole': [
    'holdfast',
    'A document is found once it is whole, and a newer version takes the place of the one before at once.',
  ],
  'search.incremental': ['holdfast', 'A folder is loaded again by what has changed in it.'],
  'search.changing': [
    'holdfast',
    'A folder that changes while it is loaded leaves one version of each file.',
  ],
  'search.unread': [
    'holdfast',
    'Files without text are skipped, each with the reason, and others are loaded.',
  ],
  'search.formats': ['holdfast', 'Text, Markdown, HTML and PDF are read, with titles, lines and pages.'],
  'search.bounded': ['holdfast', 'A large folder is loaded in bounded memory.', 'deep'],
  'search.rarest': ['holdfast', 'A word that most passages have hides no rare one.'],
  'search.meaning': [
    'holdfast',
    'Passages are found by their meaning where they were loaded with embeddings.',
  ],
  'search.tool': ['hector: searchtool', 'A tool of the model searches a corpus and cites what it finds.'],
  'search.untrusted': ['holdfast', 'What a search finds is marked as data unless the app trusts it.'],
  'search.missing': ['holdfast', 'A search of a corpus that nobody has loaded says so, once.'],
  'search.commands': ['holdfast', 'Commands load, list and remove corpora.'],
};
