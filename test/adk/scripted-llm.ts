import { BaseLlm, type Content, type LlmRequest, type LlmResponse } from '../../src/index.ts';

/** What a model was asked, as far as both packages speak of it. */
export interface SeenRequest {
  model: string | undefined;
  isStream: boolean;
  contents: Content[];
  /** Without tools and the schema of the response. */
  config: Record<string, unknown>;
  /** Names and descriptions of the declared functions, in order. */
  functions: { name: string | undefined; description: string | undefined }[];
  /** Tools of the provider itself. */
  natives: Record<string, unknown>[];
  hasResponseSchema: boolean;
}

/** Responses of one model call, or what it throws; or what makes them of the request, and of those before it. */
export type ScriptedCall =
  | LlmResponse[]
  | Error
  | ((request: LlmRequest, earlier: readonly SeenRequest[]) => LlmResponse[]);

/** Answers from a script and remembers what it was asked. Both packages take it, since models share one symbol. */
export class ScriptedLlm extends BaseLlm {
  readonly requests: SeenRequest[] = [];
  readonly #script: readonly ScriptedCall[];

  /** Each answer comes in a millisecond of its own. */
  readonly #isTimed: boolean;

  constructor(name: string, script: readonly ScriptedCall[], isTimed = false) {
    super({ model: name });
    this.#script = script;
    this.#isTimed = isTimed;
  }

  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
  ): AsyncGenerator<LlmResponse, void> {
    const call = this.#script[this.requests.length];
    const earlier = [...this.requests];
    this.requests.push(seen(request, stream));
    if (call === undefined) throw new Error(`the script has no answer to request ${this.requests.length}`);
    if (call instanceof Error) throw call;
    const responses = typeof call === 'function' ? call(request, earlier) : call;
    if (this.#isTimed) await nextMillisecond();
    for (const response of responses) yield structuredClone(response);
    if (this.#isTimed) await nextMillisecond();
  }
}

/** Waits for the clock. */
export async function nextMillisecond(): Promise<void> {
  const now = Date.now();
  while (Date.now() <= now) await new Promise(setImmediate);
}

function seen({ model, contents, config = {} }: LlmRequest, isStream: boolean): SeenRequest {
  const { tools, responseSchema, responseJsonSchema, abortSignal: _signal, ...rest } = config;
  const offered = (tools ?? []) as Record<string, unknown>[];
  return structuredClone({
    model,
    isStream,
    contents,
    config: rest,
    functions: offered.flatMap(({ functionDeclarations }) =>
      ((functionDeclarations ?? []) as { name?: string; description?: string }[]).map(
        ({ name, description }) => ({ name, description }),
      ),
    ),
    natives: offered.filter((tool) => !('functionDeclarations' in tool)),
    hasResponseSchema: responseSchema !== undefined || responseJsonSchema !== undefined,
  });
}

/** What each agent says, one after another: for those that speak at the same time. */
export function byAgent(lines: Readonly<Record<string, readonly LlmResponse[]>>): ScriptedCall[] {
  const agentOf = (config: { systemInstruction?: unknown } = {}) =>
    /internal name is "([^"]+)"/.exec(String(config.systemInstruction))?.[1] ?? '';
  const next: ScriptedCall = ({ config }, earlier) => {
    const agent = agentOf(config);
    const response = lines[agent]?.[earlier.filter((each) => agentOf(each.config) === agent).length];
    if (response === undefined) throw new Error(`the script has no more words for ${agent}`);
    return [response];
  };
  return Object.values(lines).flatMap((words) => words.map(() => next));
}

export const text = (words: string, more: Partial<LlmResponse> = {}): LlmResponse => ({
  content: { role: 'model', parts: [{ text: words }] },
  ...more,
});

/** A piece of an answer that is still coming. */
export const piece = (words: string, thought = false): LlmResponse => ({
  content: { role: 'model', parts: [{ text: words, ...(thought ? { thought } : {}) }] },
  partial: true,
});

export const parts = (...of: NonNullable<Content['parts']>): LlmResponse => ({
  content: { role: 'model', parts: of },
});

type AskedCall = [name: string, args?: Record<string, unknown>, id?: string];

export const calls = (...of: AskedCall[]): LlmResponse =>
  parts(
    ...of.map(([name, args = {}, id]) => ({
      functionCall: { name, args, ...(id === undefined ? {} : { id }) },
    })),
  );
