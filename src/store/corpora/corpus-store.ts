import type { Corpus, CorpusDocument, FoundPassage, Passage } from '../../contract/corpora.ts';
import type { SearchMemories } from '../memories/memory-store.ts';

/** The corpus of an app that is meant. */
export interface CorpusNames {
  app: string;
  corpus: string;
}

/** Passages of one version of a document. */
export interface NewPassages extends CorpusNames {
  path: string;
  digest: string;
  title?: string;
  /** Each with its number, from 0, and the terms that find it. */
  passages: readonly (Passage & { nth: number; terms: readonly string[]; words: number })[];
  /** Passages of the document, with its last ones. */
  total?: number;
}

/** Documents of apps that agents search. */
export interface CorpusStore {
  /** By name. */
  list(app: string): Promise<Corpus[]>;
  /** By path, after one. */
  documents(names: CorpusNames, page: { limit: number; after?: string }): Promise<CorpusDocument[]>;
  /** Keeps passages, each once. True once the document is whole: it then takes the place of what its path had before. */
  put(passages: NewPassages): Promise<boolean>;
  /** Removes the document of a path, or all documents and the corpus; how many versions of documents there were. */
  remove(which: CorpusNames & { path?: string }): Promise<number>;
  /** The best ones first; undefined where there is no such corpus. */
  search(names: CorpusNames, search: SearchMemories): Promise<FoundPassage[] | undefined>;
}
