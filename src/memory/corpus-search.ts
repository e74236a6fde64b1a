import type { FoundPassage } from '../contract/corpora.ts';
import { defined } from '../protocol/json.ts';
import type { Store } from '../store/store.ts';
import { type Embeddings, embeddedQuery } from './embeddings.ts';
import { queryTerms } from './memory-terms.ts';

/** Searches corpora for a context; undefined where there is no such corpus. */
export type ContextCorpora = (search: {
  corpus: string;
  query: string;
  limit: number;
}) => Promise<FoundPassage[] | undefined>;

/** Corpora of an app in the store. @param init `warn` hears of embeddings that failed: passages are then found by their words. */
export function corporaOf(init: {
  store: Pick<Store, 'corpora'>;
  app: string;
  embeddings?: Embeddings | undefined;
  signal: AbortSignal;
  warn: (error: unknown) => void;
}): ContextCorpora {
  return async ({ corpus, query, limit }) => {
    const embedding = await embeddedQuery(init.embeddings, query.toWellFormed(), init);
    const search = { terms: queryTerms(query), limit, ...defined({ embedding }) };
    return await init.store.corpora.search({ app: init.app, corpus }, search);
  };
}
