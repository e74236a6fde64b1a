import { z } from 'zod';
import { CORPUS_NAME, DEFAULT_FOUND } from '../../contract/corpora.ts';
import * as option from '../../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../../schema/options.ts';
import { serviceOf } from '../context-services.ts';
import { FunctionTool } from '../function-tool.ts';
import { InvocationContext } from '../invocation-context.ts';
import { ToolError } from '../tool-error.ts';

export interface SearchToolOptions {
  /** The corpus, as it was loaded: 1 to 48 letters of ASCII, digits, `_` or `-`. */
  corpus: string;
  /** Name of the tool. @default `search_` and the corpus */
  name?: string;
  /** Describes the tool to the model. Say what the documents are about. @default names the corpus */
  description?: string;
  /** Passages of a result, at most 20, where the model asks for no other number. @default 5 */
  results?: number;
  /**
   * Whether the documents can be trusted like the agent's own instruction, where the app says `markUntrusted`.
   *
   * @default false
   */
  trusted?: boolean;
}

const MOST_RESULTS = 20;

const SEARCH_TOOL = {
  corpus: option.required(
    option.checked(option.text(), (corpus) =>
      CORPUS_NAME.test(corpus) ? undefined : 'expected 1 to 48 letters of ASCII, digits, _ or -',
    ),
  ),
  name: option.text(),
  description: option.text(),
  results: option.checked(option.count(DEFAULT_FOUND), (results) =>
    results > MOST_RESULTS ? `expected at most ${MOST_RESULTS}, got ${results}` : undefined,
  ),
  trusted: option.flag(false),
} satisfies OptionsFor<SearchToolOptions>;

const PARAMETERS = z.object({
  query: z.string().max(4_000).describe('Words to be found.'),
  limit: z.int().min(1).max(MOST_RESULTS).optional().describe('Passages, at most.'),
});

/**
 * A tool by which the model searches a corpus of the app. Each passage of the result names its document, and its line or page.
 *
 * @throws DefinitionError naming the option.
 * @example
 * new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [searchTool({ corpus: 'handbook' })] });
 */
export function searchTool(options: SearchToolOptions): FunctionTool<typeof PARAMETERS> {
  const { corpus, results, trusted, ...named } = readGroup(SEARCH_TOOL, { owner: 'searchTool', options });
  return new FunctionTool({
    name: named.name ?? `search_${corpus}`,
    description:
      named.description ??
      `Searches the documents of ${corpus}. Results are passages: cite the document, and the line or page, of each that you use.`,
    parameters: PARAMETERS,
    isReadOnly: true,
    trusted,
    execute: async ({ query, limit = results }, context) => {
      const { corpora } = InvocationContext.initOf(context.invocationContext);
      const passages = await serviceOf(corpora, 'Corpus')({ corpus, query, limit });
      if (passages === undefined) {
        const problem = `there is no corpus "${corpus}" of app ${context.appName}: holdfast corpora load makes one`;
        throw new ToolError(problem, { code: 'HOLDFAST_NO_SUCH_CORPUS', retryable: false });
      }
      return {
        passages: passages.map(({ path, score, ...passage }) => ({
          document: path,
          ...passage,
          score: Math.round(score * 1_000) / 1_000,
        })),
      };
    },
  });
}
