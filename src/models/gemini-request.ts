import type {
  Fetch,
  GenerateContentConfig,
  GenerateContentParameters,
  HttpOptions,
  ToolConfig,
} from '@google/genai';
import { secretHeaders } from './gemini-connection.ts';
import type { LlmRequest } from './llm-request.ts';
import { verbatimBody } from './verbatim-contents.ts';

/** What one call adds to a request. */
export interface GeminiCall {
  model: string;
  fetch: Fetch;
  abortSignal: AbortSignal;
}

/** The SDK's parameters for a request, made of copies: the SDK rewrites tool declarations and schemas in place. */
export function geminiParameters(llmRequest: LlmRequest, call: GeminiCall): GenerateContentParameters {
  const { contents, config = {} } = llmRequest;
  const toolConfig = wholeCalls(config.toolConfig);
  return {
    model: call.model,
    contents,
    config: {
      ...config,
      ...(config.tools && { tools: copied(config.tools) }),
      ...(toolConfig && { toolConfig }),
      automaticFunctionCalling: { disable: true },
      abortSignal: call.abortSignal,
      httpOptions: httpOptions(llmRequest, call.fetch),
    },
  };
}

/** Values of the request's own headers that no message may show. */
export function requestSecrets(llmRequest: LlmRequest): string[] {
  return secretHeaders(llmRequest.config?.httpOptions?.headers);
}

function httpOptions({ contents, config }: LlmRequest, fetch: Fetch): HttpOptions {
  const verbatim = verbatimBody(contents);
  return {
    ...config?.httpOptions,
    ...(verbatim && { extraBody: { ...verbatim, ...config?.httpOptions?.extraBody } }),
    retryOptions: { attempts: 1 },
    fetch,
  };
}

type Tools = NonNullable<GenerateContentConfig['tools']>;

function copied(tools: Tools): Tools {
  return tools.map((tool) =>
    'functionDeclarations' in tool && tool.functionDeclarations
      ? {
          ...tool,
          functionDeclarations: tool.functionDeclarations.map((declaration) => ({ ...declaration })),
        }
      : tool,
  );
}

function wholeCalls(toolConfig: ToolConfig | undefined): ToolConfig | undefined {
  if (!toolConfig?.functionCallingConfig?.streamFunctionCallArguments) return toolConfig;
  const { streamFunctionCallArguments: _, ...functionCallingConfig } = toolConfig.functionCallingConfig;
  return { ...toolConfig, functionCallingConfig };
}
