import { z } from 'zod';
import { guardedFetch } from '../../net/guarded-fetch.ts';
import { assertKnownFields } from '../../schema/known-fields.ts';
import * as option from '../../schema/option-kinds.ts';
import { namesOf, OptionReader, type OptionsFor, readFrom } from '../../schema/options.ts';
import { ToolError } from '../tool-error.ts';
import { statusError } from './load-web-page.ts';
import type { WebSearch } from './web-search-tool.ts';

export interface BraveSearchOptions {
  /** Key of the Brave Search API. No error, log or history has it. */
  apiKey: string;
  /** Address of the API, or of a proxy of your own, which may be a private one. @default Brave's */
  url?: string;
}

const BRAVE = {
  apiKey: option.required(
    option.checked(option.text(), (key) =>
      /^[!-~]+$/.test(key) ? undefined : 'expected printable ASCII without spaces',
    ),
  ),
  url: option.checked(option.text(), (url) => (URL.canParse(url) ? undefined : 'expected an address')),
} satisfies OptionsFor<BraveSearchOptions>;

const ADDRESS = 'https://api.search.brave.com/res/v1/web/search';
/** The API takes no more words. */
const MOST_WORDS = 50;
const LIMITS = { timeout: 20_000, maxBytes: 2 * 1024 * 1024 };

const TEXT = z.string().catch('');
/** An answer without `web` has found nothing. */
const ANSWER = z.object({
  web: z.object({ results: z.array(z.object({ title: TEXT, url: TEXT, description: TEXT })) }).optional(),
});

/**
 * Searches by the Brave Search API. A refusal is told by its status alone.
 *
 * @throws DefinitionError naming the option.
 */
export function braveSearch(options: BraveSearchOptions): WebSearch {
  assertKnownFields('braveSearch', options, namesOf(BRAVE));
  const { apiKey, url } = readFrom(BRAVE, new OptionReader('braveSearch', options));
  const headers = { accept: 'application/json', 'x-subscription-token': apiKey };
  return {
    async search(query, { limit, signal }) {
      const address = new URL(url ?? ADDRESS);
      const q = query.split(/\s+/).slice(0, MOST_WORDS).join(' ');
      address.search = String(new URLSearchParams({ q, count: String(limit), text_decorations: 'false' }));
      const allow = url === undefined ? [] : [address.host];
      const answer = await guardedFetch(address, { headers, signal }, { ...LIMITS, allow });
      if (answer.status !== 200) throw statusError('the Brave Search API', answer);
      try {
        const { web } = ANSWER.parse(JSON.parse(answer.body.toString('utf8')));
        return (web?.results ?? []).map(({ description: text, ...page }) => ({ ...page, text }));
      } catch {
        // The parser's words quote the answer.
        throw new ToolError('the answer of the Brave Search API can’t be read', {
          code: 'HOLDFAST_FETCH_FAILED',
        });
      }
    },
  };
}
