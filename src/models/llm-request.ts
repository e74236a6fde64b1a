import type {
  Content,
  ContentUnion,
  FunctionDeclaration,
  GenerateContentConfig,
  Part,
  Tool,
} from '@google/genai';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { BaseTool } from '../tools/base-tool.ts';

/** What a model is asked. Semantics: `LlmRequest` of `@google/adk` 2.0.0, without the live fields. */
export interface LlmRequest {
  /** Name of the model; defaults to that of the `BaseLlm` that gets the request. */
  model?: string;
  /** The conversation, oldest first. Parts of the model are those it sent, unchanged. */
  contents: Content[];
  /** The rest of the request. Set tools by {@link appendTools} and not here. */
  config?: GenerateContentConfig;
  /** Tools that the model may call, by name. */
  toolsDict: { [name: string]: BaseTool };
}

/**
 * Adds instructions to the system instruction, a blank line between any two.
 *
 * @example appendInstructions(llmRequest, ['You are terse.', 'Answer in Latin.']);
 */
export function appendInstructions(llmRequest: LlmRequest, instructions: string[]): void {
  if (instructions.length === 0) return;
  llmRequest.config ??= {};
  llmRequest.config.systemInstruction = joined(
    llmRequest.config.systemInstruction,
    instructions.join('\n\n'),
  );
}

function joined(present: ContentUnion | undefined, more: string): ContentUnion {
  if (present === undefined || present === '') return more;
  if (typeof present === 'string') return `${present}\n\n${more}`;
  if (Array.isArray(present)) return [...present, { text: more }];
  if (isContent(present)) return { ...present, parts: [...(present.parts ?? []), { text: more }] };
  return [present, { text: more }];
}

function isContent(value: Content | Part): value is Content {
  return 'parts' in value || 'role' in value;
}

/**
 * Offers tools to the model: all function declarations stand in one entry of `config.tools`, which Gemini asks for.
 * A tool without a declaration (`_getDeclaration()` returns undefined) is left out.
 *
 * @throws DefinitionError for a declaration without a name or under another name than the tool's, and for a
 *   name that is already taken.
 */
export function appendTools(llmRequest: LlmRequest, tools: BaseTool[]): void {
  const declarations: FunctionDeclaration[] = [];
  const added: LlmRequest['toolsDict'] = {};
  for (const tool of tools) {
    const declaration = tool._getDeclaration();
    if (declaration === undefined) continue;
    assertDeclared(tool, declaration);
    if (Object.hasOwn(llmRequest.toolsDict, tool.name) || Object.hasOwn(added, tool.name)) {
      throw new DefinitionError({
        owner: `tool ${JSON.stringify(tool.name)}`,
        field: 'name',
        problem: "another tool has this name, so a call couldn't be told from another; rename one of them",
      });
    }
    added[tool.name] = tool;
    declarations.push(declaration);
  }
  if (declarations.length === 0) return;
  Object.assign(llmRequest.toolsDict, added);
  llmRequest.config ??= {};
  llmRequest.config.tools = withDeclarations(llmRequest.config.tools ?? [], declarations);
}

function assertDeclared(tool: BaseTool, declaration: FunctionDeclaration): void {
  if (typeof declaration.name !== 'string' || declaration.name.trim() === '') {
    throw new DefinitionError({
      owner: tool.constructor.name,
      field: 'name',
      problem: `the declaration has no name (${kindOf(declaration.name)}); let _getDeclaration() return the tool's`,
    });
  }
  if (declaration.name !== tool.name) {
    throw new DefinitionError({
      owner: `tool ${JSON.stringify(tool.name)}`,
      field: 'name',
      problem: `declares itself as ${JSON.stringify(declaration.name)}; let _getDeclaration() return the tool's name`,
    });
  }
}

type Tools = NonNullable<GenerateContentConfig['tools']>;

function withDeclarations(tools: Tools, declarations: FunctionDeclaration[]): Tools {
  const index = tools.findIndex((tool) => 'functionDeclarations' in tool);
  if (index === -1) return [...tools, { functionDeclarations: declarations }];
  return tools.map((tool, position) =>
    position === index
      ? { ...tool, functionDeclarations: [...((tool as Tool).functionDeclarations ?? []), ...declarations] }
      : tool,
  );
}
