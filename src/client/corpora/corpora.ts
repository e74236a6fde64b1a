import {
  type CORPORA,
  type Corpus,
  type FoundPassage,
  type ListDocuments,
  type ListedDocuments,
  listCorpora,
  listDocuments,
  type PutDocument,
  putDocument,
  type RemoveCorpus,
  removeCorpus,
  type SearchCorpus,
  searchCorpus,
} from '../../contract/corpora.ts';
import { type Call, type MethodsOf, OPERATOR } from '../../contract/operation.ts';
import type { LoadCorpus, LoadedCorpus } from './load-folder.ts';

/** Documents of apps that agents search. */
export class Corpora implements MethodsOf<typeof CORPORA> {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Loads a folder of this machine into a corpus: text, Markdown, HTML and PDF. Unchanged files are skipped, and documents whose
   * file is no longer in the folder are removed. A file that can't be read is skipped, and keeps the version that was loaded before.
   *
   * @throws InvalidTurn, EmbeddingsFailed
   * @example await client.corpora.load({ app: 'shop', corpus: 'handbook', folder: 'docs/handbook' });
   */
  async load(load: LoadCorpus): Promise<LoadedCorpus> {
    const { loadFolder } = await import('./load-folder.ts');
    return await loadFolder(this, load);
  }

  /** The corpora of an app. @throws InvalidTurn */
  async list(app: string): Promise<readonly Corpus[]> {
    return (await this.#call(listCorpora, { app }, OPERATOR)).corpora;
  }

  /** The documents of a corpus, by path, a page at a time. @throws InvalidTurn */
  async documents(list: ListDocuments): Promise<ListedDocuments> {
    return await this.#call(listDocuments, list, OPERATOR);
  }

  /**
   * Puts a document into a corpus, whole or in parts; true once it is whole.
   *
   * @throws InvalidTurn
   * @example
   * const passages = [{ text: 'Parental leave is two years.' }];
   * await client.corpora.put({ app, corpus: 'handbook', path: 'leave', digest: '1', first: 0, passages, total: 1 });
   */
  async put(document: PutDocument): Promise<boolean> {
    return (await this.#call(putDocument, document, OPERATOR)).loaded;
  }

  /** Passages that have words of a query, the best ones first. @throws InvalidTurn */
  async search(search: SearchCorpus): Promise<readonly FoundPassage[]> {
    return (await this.#call(searchCorpus, search, OPERATOR)).passages;
  }

  /** Removes a corpus, or one of its documents. How many documents there were. @throws InvalidTurn */
  async remove(which: RemoveCorpus): Promise<number> {
    return (await this.#call(removeCorpus, which, OPERATOR)).removed;
  }
}
