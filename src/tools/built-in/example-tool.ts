import type { Content, Part } from '../../events/content.ts';
import { appendInstructions } from '../../models/llm-request.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { BaseTool, type ToolProcessLlmRequest } from '../base-tool.ts';
import { ToolError } from '../tool-error.ts';

/** A user's words, and the agent's answer to them, calls and their responses included. Fields: those of `@google/adk` 2.0.0. */
export interface Example {
  input: Content;
  output: Content[];
}

const EXAMPLE_PROVIDER = Symbol.for('holdfast.exampleProvider');

/** Chooses the examples for what the user says. Semantics: `BaseExampleProvider` of `@google/adk` 2.0.0, which can't wait. */
export abstract class BaseExampleProvider {
  readonly [EXAMPLE_PROVIDER] = true;

  /** @param query the first text of the user's message. */
  abstract getExamples(query: string): Example[] | Promise<Example[]>;
}

/** Whether `value` is a {@link BaseExampleProvider}, of this or of another copy of the package. */
export function isBaseExampleProvider(value: unknown): value is BaseExampleProvider {
  return typeof value === 'object' && value !== null && EXAMPLE_PROVIDER in value;
}

/**
 * Adds examples to the instruction of each request whose message begins with a text. The model doesn't see the tool. Semantics:
 * `ExampleTool` of `@google/adk` 2.0.0; arguments of calls are written as JSON.
 *
 * @throws DefinitionError from the constructor for anything but a list or a provider.
 */
export class ExampleTool extends BaseTool {
  readonly examples: Example[] | BaseExampleProvider;

  constructor(examples: Example[] | BaseExampleProvider) {
    super({ name: 'example_tool', description: 'example tool' });
    if (!Array.isArray(examples) && !isBaseExampleProvider(examples)) {
      const problem = `expected a list of examples or a BaseExampleProvider, got ${kindOf(examples)}`;
      throw new DefinitionError({ owner: 'ExampleTool', field: 'examples', problem });
    }
    this.examples = examples;
  }

  override async runAsync(): Promise<unknown> {
    throw new ToolError('ExampleTool should not be called by model', { retryable: false });
  }

  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const query = toolContext.userContent?.parts?.[0]?.text;
    if (!query) return;
    const { examples } = this;
    const found = Array.isArray(examples) ? examples : await examples.getExamples(query);
    // Models of Gemini 2 take fences with names for code that they should run.
    const isNamed = llmRequest.model?.includes('gemini-2') === false;
    if (found.length > 0) appendInstructions(llmRequest, [instructionOf(found, isNamed)]);
  }
}

function instructionOf(examples: readonly Example[], isNamed: boolean): string {
  const shown = examples.flatMap(({ input, output }, index) => {
    let speaker = '';
    const lines = [{ ...input, role: 'user' }, ...output].flatMap(({ role, parts = [] }) => {
      const head = role === 'model' ? '[model]' : '[user]';
      const said = parts.flatMap((part) => linesOf(part, isNamed));
      const isNext = head !== speaker;
      speaker = head;
      return isNext ? [head, ...said] : said;
    });
    return [`EXAMPLE ${index + 1}:`, 'Begin example', ...lines, 'End example', ''];
  });
  const intro = 'Each example shows what a user asked and how the tools were used to answer.';
  return ['<EXAMPLES>', 'Begin few-shot', intro, '', ...shown, 'End few-shot', '</EXAMPLES>'].join('\n');
}

function linesOf({ text, functionCall, functionResponse }: Part, isNamed: boolean): string[] {
  if (functionCall !== undefined) {
    const args = Object.entries(functionCall.args ?? {}).map(
      ([name, value]) => `${name}=${JSON.stringify(value)}`,
    );
    return [`\`\`\`${isNamed ? 'tool_code' : ''}`, `${functionCall.name}(${args.join(', ')})`, '```'];
  }
  if (functionResponse === undefined) return text ? [text] : [];
  return [`\`\`\`${isNamed ? 'tool_outputs' : ''}`, JSON.stringify(functionResponse), '```'];
}
