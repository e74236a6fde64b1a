import { z } from 'zod';
import { isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { FunctionTool } from '../function-tool.ts';

/** A page that a search has found; `text`: some sentences of it, or about it. */
export interface WebSearchResult {
  title: string;
  url: string;
  text: string;
}

/** A search engine of the web. */
export interface WebSearch {
  /** @param options `limit`: most results; `signal` ends the search. */
  search(query: string, options: { limit: number; signal: AbortSignal }): Promise<WebSearchResult[]>;
}

const text = (most: number) => z.string().transform((value) => value.slice(0, most).toWellFormed());
const RESULTS = z.array(z.object({ title: text(300), url: text(2_048), text: text(2_000) }));
const MOST_RESULTS = 20;

/**
 * `web_search`: the model searches the web, and gets `{ results: [{ title, url, text }] }`, at most 20 with bounded texts. They count as data
 * of others.
 *
 * @param options `search`: {@link braveSearch}, or an engine of your own.
 * @throws DefinitionError for what is no engine.
 * @example webSearchTool({ search: braveSearch({ apiKey: process.env.BRAVE_API_KEY ?? '' }) })
 */
export function webSearchTool({ search: engine }: { search: WebSearch }) {
  if (!isRecord(engine) || typeof engine.search !== 'function') {
    const problem = `expected a WebSearch (an object with search), got ${kindOf(engine)}`;
    throw new DefinitionError({ owner: 'webSearchTool', field: 'search', problem });
  }
  return new FunctionTool({
    name: 'web_search',
    description:
      'Searches the web, and gives titles, addresses and some sentences of the pages that it finds.',
    parameters: z.object({
      query: z.string().trim().min(1).max(400).describe('The words to search for.'),
      limit: z.int().min(1).max(MOST_RESULTS).default(5).describe('Most results.'),
    }),
    outputSchema: z.object({ results: RESULTS }),
    isReadOnly: true,
    timeout: '1 minute',
    execute: async ({ query, limit }, { abortSignal: signal }) => {
      const found = await engine.search(query, { limit, signal });
      return { results: Array.isArray(found) ? found.slice(0, limit) : found };
    },
  });
}
