import type { GenerateContentConfig } from '@google/genai';
import { fillInstruction } from '../agents/instructions.ts';
import type { InstructionProvider } from '../agents/llm-agent-config.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { Context } from '../tools/context.ts';
import { InvocationContext } from '../tools/invocation-context.ts';
import { ReadonlyContext } from '../tools/readonly-context.ts';
import { BasePlugin } from './base-plugin.ts';
import type { PluginParams } from './plugin-failed.ts';

type SystemInstruction = NonNullable<GenerateContentConfig['systemInstruction']>;

/**
 * Gives all agents of an app an instruction, before their own. In text, `{name}` stands for the state's value of that key,
 * as in an agent's instruction. Semantics: `GlobalInstructionPlugin` of `@google/adk` 2.0.0.
 *
 * @example new GlobalInstructionPlugin('Answer in the language of {user:name?}.')
 */
export class GlobalInstructionPlugin extends BasePlugin {
  readonly globalInstruction: string | InstructionProvider;

  /** @throws DefinitionError for a value that is neither text nor a function. */
  constructor(globalInstruction: string | InstructionProvider = '', name = 'global_instruction') {
    super(name);
    if (typeof globalInstruction !== 'string' && typeof globalInstruction !== 'function') {
      throw new DefinitionError({
        owner: new.target.name,
        field: 'globalInstruction',
        problem: `expected a string or a function of the context, got ${kindOf(globalInstruction)}`,
      });
    }
    this.globalInstruction = globalInstruction;
  }

  override async beforeModelCallback({
    callbackContext,
    llmRequest,
  }: PluginParams<'beforeModelCallback'>): Promise<undefined> {
    const instruction = await this.#resolve(callbackContext);
    if (instruction === '') return;
    llmRequest.config ??= {};
    llmRequest.config.systemInstruction = before(instruction, llmRequest.config.systemInstruction);
  }

  async #resolve(context: Context): Promise<string> {
    const { globalInstruction } = this;
    if (typeof globalInstruction === 'function') {
      return instructionText(await globalInstruction(new ReadonlyContext(context.invocationContext)));
    }
    const { artifacts } = InvocationContext.initOf(context.invocationContext);
    return await fillInstruction(globalInstruction, artifacts, context.state.toRecord());
  }
}

function instructionText(provided: unknown): string {
  if (provided === undefined || provided === null) return '';
  if (typeof provided === 'string') return provided;
  throw new TypeError(`the instruction's function returned no text, but ${kindOf(provided)}`);
}

function before(instruction: string, present: SystemInstruction | undefined): SystemInstruction {
  if (present === undefined || present === '') return instruction;
  if (typeof present === 'string') return `${instruction}\n\n${present}`;
  if (Array.isArray(present)) return present.length === 0 ? instruction : [instruction, ...present];
  if ('parts' in present) return { ...present, parts: [{ text: instruction }, ...(present.parts ?? [])] };
  return [instruction, present as Exclude<typeof present, { parts?: unknown }>];
}
