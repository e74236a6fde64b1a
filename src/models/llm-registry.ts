import { codedError } from '../contract/error.ts';
import { AiSdkModel } from './ai-sdk/ai-sdk-model.ts';
import { PROVIDER_PACKAGES } from './ai-sdk/provider-packages.ts';
import type { BaseLlm } from './base-llm.ts';
import { Gemini } from './gemini.ts';

/** A model class that can be made from a model's name alone. */
export type BaseLlmType = (new (params: {
  model: string;
}) => BaseLlm) & {
  readonly supportedModels: Array<string | RegExp>;
};

/** No registered class takes a model of this name. */
export class UnknownModelError extends codedError('HOLDFAST_UNKNOWN_MODEL') {}

interface Registration {
  pattern: RegExp;
  llmClass: BaseLlmType;
}

/**
 * Finds the class for a model that an agent names by a string. Knows `Gemini`, and `AiSdkModel` for names such as
 * `openai/gpt-5`; a class that is registered later goes before earlier ones.
 *
 * Semantics: `LLMRegistry` of `@google/adk` 2.0.0, except for that order: there the first one wins, so that nothing
 * can take the place of `Gemini`.
 *
 * @example
 * LLMRegistry.register(Claude);
 * LLMRegistry.newLlm('claude-opus'); // a Claude
 */
// biome-ignore lint/complexity/noStaticOnlyClass: ADK's name and shape
export class LLMRegistry {
  static #registrations: Registration[] = [];

  /** Offers `llmClass` for the models whose whole name matches one of its `supportedModels`. */
  static register<T extends BaseLlm>(
    llmClass: (new (params: { model: string }) => T) & { readonly supportedModels: Array<string | RegExp> },
  ): void {
    const added = llmClass.supportedModels.map((supported) => ({
      pattern: wholeName(supported),
      llmClass,
    }));
    const others = LLMRegistry.#registrations.filter((registration) => registration.llmClass !== llmClass);
    LLMRegistry.#registrations = [...added, ...others];
  }

  /**
   * Makes the model of this name.
   *
   * @throws UnknownModelError where no class takes it.
   */
  static newLlm(model: string): BaseLlm {
    return new (LLMRegistry.resolve(model))({ model });
  }

  /**
   * The class for a model's name.
   *
   * @throws UnknownModelError where no class takes it.
   */
  static resolve(model: string): BaseLlmType {
    const found = LLMRegistry.#registrations.find(({ pattern }) => pattern.test(model));
    if (found) return found.llmClass;
    throw new UnknownModelError(
      `no model is known by the name ${JSON.stringify(model)}: begin with the provider, as in "openai/gpt-5"; ` +
        `providers are ${Object.keys(PROVIDER_PACKAGES).join(', ')}`,
    );
  }
}

function wholeName(supported: string | RegExp): RegExp {
  const { source, flags } = supported instanceof RegExp ? supported : { source: supported, flags: '' };
  return new RegExp(`^(?:${source})$`, flags.replace(/[gy]/g, ''));
}

LLMRegistry.register(AiSdkModel);
LLMRegistry.register(Gemini);
