import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
} from '@ai-sdk/provider';

/** The options of a call as `LanguageModelV3` takes them, which has no effort of reasoning, and other files. */
export function forV3(
  { reasoning: _, prompt, ...options }: LanguageModelV4CallOptions,
  warn: (feature: string) => void,
): LanguageModelV3CallOptions {
  return { ...options, prompt: prompt.map((message) => messageForV3(message, warn)) };
}

function messageForV3(
  message: LanguageModelV4Message,
  warn: (feature: string) => void,
): LanguageModelV3Message {
  if (message.role === 'system' || message.role === 'tool') return message as LanguageModelV3Message;
  const content = message.content.flatMap((part): object[] => {
    if (part.type === 'file') return [{ ...part, data: dataForV3(part.data) }];
    if (part.type !== 'custom' && part.type !== 'reasoning-file') return [part];
    warn(`parts of the type ${part.type}`);
    return [];
  });
  return { ...message, content } as LanguageModelV3Message;
}

/** Prompts of ours have data and URLs only. */
function dataForV3(data: LanguageModelV4FilePart['data']): string | Uint8Array | URL {
  if (data.type === 'url') return data.url;
  return data.type === 'data' ? data.data : '';
}
