import { z } from 'zod';
import { APP, moment, name, PAGE } from './fields.ts';
import type { Exact, InputOf, Noun, Operation } from './operation.ts';

/** Characters of a passage, at most. */
const LONGEST_TEXT = 4_000;
/** Passages of one request, at most. */
const MOST_PASSAGES = 500;
/** Numbers of an embedding, at most. */
const LARGEST_VECTOR = 8_192;
/** Characters of a document's path, at most: an index has them. */
export const LONGEST_PATH = 600;
/** Passages that a search finds, at most, and where nobody asks for another number. */
const MOST_FOUND = 100;
export const DEFAULT_FOUND = 5;

/** A name of a corpus, which can stand in a tool's. */
export const CORPUS_NAME = /^[A-Za-z0-9_-]{1,48}$/;

const PATH = name('The document: its path in the folder.', LONGEST_PATH);
/** Characters of a title, at most. */
export const LONGEST_TITLE = 500;
const TITLE = name('The title.', LONGEST_TITLE).optional();
const PLACE = {
  line: z.int().min(1).optional().meta({ description: 'The line that it begins in, from 1.' }),
  page: z.int().min(1).optional().meta({ description: 'The page that it is on, from 1.' }),
};

const PASSAGE = z
  .object({
    text: name('The text.', LONGEST_TEXT),
    ...PLACE,
    embedding: z
      .object({ model: name('The model.', 500), values: z.array(z.number()).min(1).max(LARGEST_VECTOR) })
      .optional()
      .meta({
        description: 'Of length 1: searches with embeddings of this model find it by its meaning, too.',
      }),
  })
  .meta({ id: 'Passage' });

const FOUND_PASSAGE = z
  .object({
    ...{ text: z.string(), path: z.string(), title: TITLE, ...PLACE },
    score: z.number().meta({ description: '1 for a passage that is the first by words and by meaning.' }),
  })
  .meta({ id: 'FoundPassage' });

const CORPUS_ROW = z
  .object({ corpus: z.string(), documents: z.int(), passages: z.int(), updatedAt: moment() })
  .meta({ id: 'Corpus' });

const DOCUMENT = z
  .object({
    path: z.string(),
    digest: z.string().optional().meta({ description: 'Absent before it is whole for the first time.' }),
    ...{ title: TITLE, passages: z.int() },
  })
  .meta({ id: 'CorpusDocument' });

const CORPUS = {
  ...APP,
  corpus: z
    .string()
    .regex(CORPUS_NAME)
    .meta({ description: 'The corpus.', 'x-expected': '1 to 48 letters of ASCII, digits, _ or -' }),
};
const ABOUT = { tag: 'Corpora' } as const;
const CORPUS_PATH = '/v1/apps/{app}/corpora/{corpus}';

export const listCorpora = {
  ...ABOUT,
  name: 'corpora.list',
  id: 'listCorpora',
  summary: 'List the corpora of an app',
  method: 'get',
  path: '/v1/apps/{app}/corpora',
  may: { permission: 'read', of: 'path' },
  input: z.object(APP),
  output: z.object({ corpora: z.array(CORPUS_ROW) }).meta({ id: 'Corpora' }),
  answer: 'The corpora, by name.',
} as const satisfies Operation;

export const listDocuments = {
  ...ABOUT,
  name: 'corpora.documents',
  id: 'listDocuments',
  summary: 'List the documents of a corpus',
  method: 'get',
  path: `${CORPUS_PATH}/documents`,
  may: { permission: 'read', of: 'path' },
  input: z.object({
    ...CORPUS,
    limit: PAGE.limit,
    after: name('Those after this path, with which the page before has ended.').optional(),
  }),
  output: z
    .object({
      documents: z.array(DOCUMENT),
      next: z.string().optional().meta({ description: 'Goes on `after` it; absent on the last page.' }),
    })
    .meta({ id: 'CorpusDocuments' }),
  answer: 'The documents, by path.',
} as const satisfies Operation;

export const putDocument = {
  ...ABOUT,
  name: 'corpora.put',
  id: 'putDocument',
  summary: 'Put a document into a corpus, whole or in parts',
  description:
    'Nobody finds it before its last part, which says how many passages there are. It then takes the place of what its path had before.',
  method: 'post',
  path: `${CORPUS_PATH}/documents`,
  may: { permission: 'operate', of: 'path' },
  input: z.object({
    ...CORPUS,
    path: PATH,
    digest: name('Of this version: parts of one version have the same.', 64),
    title: TITLE,
    first: z.int().min(0).meta({ description: 'Number of the first passage of this part, from 0.' }),
    passages: z.array(PASSAGE).max(MOST_PASSAGES),
    total: z.int().min(0).optional().meta({ description: 'With the last part: passages of the document.' }),
  }),
  output: z
    .object({
      loaded: z.boolean().meta({
        description:
          'Whether it is whole. After the last part false says that parts were removed: begin again.',
      }),
    })
    .meta({ id: 'KeptPart' }),
  answer: 'The part is kept.',
} as const satisfies Operation;

export const searchCorpus = {
  ...ABOUT,
  name: 'corpora.search',
  id: 'searchCorpus',
  summary: 'Search a corpus',
  description: 'By words: embeddings are for agents. A corpus that is not there has no passages.',
  method: 'get',
  path: `${CORPUS_PATH}/passages`,
  may: { permission: 'read', of: 'path' },
  input: z.object({
    ...CORPUS,
    query: z.string().max(4_000).meta({ description: 'Words to be found.' }),
    limit: z
      .int()
      .min(1)
      .max(MOST_FOUND)
      .optional()
      .meta({ description: 'Passages, at most.', default: DEFAULT_FOUND }),
  }),
  output: z.object({ passages: z.array(FOUND_PASSAGE) }).meta({ id: 'FoundPassages' }),
  answer: 'Passages, the best ones first.',
} as const satisfies Operation;

export const removeCorpus = {
  ...ABOUT,
  name: 'corpora.remove',
  id: 'removeCorpus',
  summary: 'Remove a corpus, or one of its documents',
  description: 'Removing again is no error.',
  method: 'delete',
  path: CORPUS_PATH,
  may: { permission: 'operate', of: 'path' },
  input: z.object({ ...CORPUS, path: PATH.optional() }),
  output: z
    .object({ removed: z.int().meta({ description: 'How many documents there were.' }) })
    .meta({ id: 'RemovedDocuments' }),
  answer: 'They are gone.',
} as const satisfies Operation;

/** By their methods; routes of the gateway stand in this order. */
export const CORPORA = {
  list: listCorpora,
  documents: listDocuments,
  put: putDocument,
  search: searchCorpus,
  remove: removeCorpus,
} as const satisfies Noun;

/** A named set of documents of an app. */
export type Corpus = Exact<z.output<typeof CORPUS_ROW>>;
export type CorpusDocument = Exact<z.output<typeof DOCUMENT>>;
/** A part of a document's text. */
export type Passage = Exact<z.output<typeof PASSAGE>>;
/** A passage that a search has found, and where it stands. */
export type FoundPassage = Exact<z.output<typeof FOUND_PASSAGE>>;
export type ListDocuments = InputOf<typeof listDocuments>;
export type ListedDocuments = Exact<z.output<typeof listDocuments.output>>;
export type PutDocument = InputOf<typeof putDocument>;
export type SearchCorpus = InputOf<typeof searchCorpus>;
export type RemoveCorpus = InputOf<typeof removeCorpus>;
