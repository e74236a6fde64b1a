import { type CORPORA, DEFAULT_FOUND } from '../../contract/corpora.ts';
import { DEFAULT_LISTED } from '../../contract/lists.ts';
import type { Handlers, OperationsOf } from '../../contract/operation.ts';
import { queryTerms, withTerms } from '../../memory/memory-terms.ts';
import { defined } from '../../protocol/json.ts';
import { type StoredContext, storeOf } from '../stored-context.ts';

const corporaOf = (context: StoredContext) => storeOf(context, 'corpora').corpora;

/** Performs what is done to corpora. */
export const storedCorpora: Handlers<OperationsOf<typeof CORPORA>, StoredContext> = {
  'corpora.list': async ({ app }, context) => ({ corpora: await corporaOf(context).list(app) }),
  'corpora.documents': async ({ limit = DEFAULT_LISTED, after, ...names }, context) => {
    const found = await corporaOf(context).documents(names, { limit: limit + 1, ...defined({ after }) });
    const documents = found.slice(0, limit);
    return { documents, ...defined({ next: found.length > limit ? documents.at(-1)?.path : undefined }) };
  },
  'corpora.put': async ({ passages, first, ...document }, context) => {
    const told = await withTerms(passages, new AbortController().signal);
    const numbered = told.map((passage, index) => ({ ...passage, nth: first + index }));
    return { loaded: await corporaOf(context).put({ ...document, passages: numbered }) };
  },
  'corpora.search': async ({ query, limit = DEFAULT_FOUND, ...names }, context) => {
    const found = await corporaOf(context).search(names, { terms: queryTerms(query), limit });
    return { passages: found ?? [] };
  },
  'corpora.remove': async (which, context) => ({ removed: await corporaOf(context).remove(which) }),
};
