import type {
  ContentUnion,
  FunctionDeclaration,
  GenerateContentConfig,
  LiveConnectConfig,
  Part,
  Tool as ProviderTool,
} from '@google/genai';
import type { Content } from '../events/content.ts';
import { copyPlain, isPlain } from '../schema/copy-plain.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { thrownMessage } from '../schema/thrown-message.ts';

/** A tool as far as a request tells a model of it. */
interface OfferedTool {
  readonly name: string;
  /** Undefined for a tool that the model doesn't call. */
  _getDeclaration(): FunctionDeclaration | undefined;
}

/** The `LlmRequest` as a model sees it. A model knows nothing of how tools run. */
export interface ModelRequest<Tool extends OfferedTool = OfferedTool> {
  /** Name of the model; defaults to that of the `BaseLlm` that gets the request. */
  model?: string;
  /** The conversation, oldest first. Parts of the model are those it sent, unchanged. */
  contents: Content[];
  /** The rest of the request. Set tools by {@link appendTools} and not here. */
  config?: GenerateContentConfig;
  /** Taken and never read: programs of ADK, where it is required, have it. */
  liveConnectConfig?: LiveConnectConfig;
  /** Tools that the model may call, by name. */
  toolsDict: { [name: string]: Tool };
  /** Where it is set, tools of other names are not offered. Set by plugins' `beforeToolSelection`, or by processors. */
  allowedTools?: string[];
  /** Data that processors, tools and callbacks pass to each other; never sent. */
  metadata?: Record<string, unknown>;
}

/**
 * Adds instructions to the system instruction, a blank line between any two.
 *
 * @example appendInstructions(llmRequest, ['You are terse.', 'Answer in Latin.']);
 */
export function appendInstructions(llmRequest: ModelRequest, instructions: string[]): void {
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
export function appendTools<Tool extends OfferedTool>(
  llmRequest: ModelRequest<Tool>,
  tools: readonly Tool[],
): void {
  const { toolsDict } = llmRequest;
  const declarations: FunctionDeclaration[] = [];
  const added: string[] = [];
  try {
    for (const tool of tools) {
      const declaration = declarationOf(tool);
      if (declaration === undefined) continue;
      assertDeclared(tool, declaration);
      const { name } = tool;
      if (Object.hasOwn(toolsDict, name)) throw taken(name);
      toolsDict[name] = tool;
      added.push(name);
      declarations.push(declaration);
    }
  } catch (error) {
    for (const name of added) delete toolsDict[name];
    throw error;
  }
  if (declarations.length === 0) return;
  llmRequest.config ??= {};
  llmRequest.config.tools = withDeclarations(llmRequest.config.tools ?? [], declarations);
}

/** User code, like all of a tool: what it throws must say whose it is. */
function declarationOf(tool: OfferedTool): FunctionDeclaration | undefined {
  try {
    return tool._getDeclaration() ?? undefined;
  } catch (cause) {
    throw new DefinitionError(
      {
        owner: `tool ${JSON.stringify(tool.name)}`,
        field: '_getDeclaration',
        problem: `it threw: ${thrownMessage(cause)}`,
      },
      { cause },
    );
  }
}

function taken(name: string): DefinitionError {
  return new DefinitionError({
    owner: `tool ${JSON.stringify(name)}`,
    field: 'name',
    problem: "another tool has this name, so a call couldn't be told from another; rename one of them",
  });
}

function assertDeclared(tool: OfferedTool, declaration: FunctionDeclaration): void {
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
      ? {
          ...tool,
          functionDeclarations: [...((tool as ProviderTool).functionDeclarations ?? []), ...declarations],
        }
      : tool,
  );
}

/**
 * Takes tools out of a request, the inverse of {@link appendTools}: the model is told of them no more. Names that the
 * request doesn't have are passed over, and so are the provider's own tools, which have none.
 */
export function removeTools(llmRequest: ModelRequest, names: readonly string[]): void {
  for (const name of names) {
    if (Object.hasOwn(llmRequest.toolsDict, name)) delete llmRequest.toolsDict[name];
  }
  const tools = llmRequest.config?.tools;
  if (llmRequest.config === undefined || tools === undefined) return;
  const left = tools.flatMap((tool) => withoutDeclarations(tool, names));
  if (left.length > 0) llmRequest.config.tools = left;
  else delete llmRequest.config.tools;
}

function withoutDeclarations(tool: Tools[number], names: readonly string[]): Tools {
  if (!('functionDeclarations' in tool)) return [tool];
  const { functionDeclarations = [], ...rest } = tool;
  const left = functionDeclarations.filter(({ name }) => name === undefined || !names.includes(name));
  if (left.length > 0) return [{ ...rest, functionDeclarations: left }];
  return Object.keys(rest).length > 0 ? [rest] : [];
}

const own = new WeakSet<Content>();

/**
 * Contents and declarations of a request are frozen and shared with other requests, which costs an agent nothing that has no
 * user code about its requests. User code may edit them in place, as ADK programs do: it is given copies, which are this
 * request's own.
 */
export function thawRequest({ contents, config }: ModelRequest): void {
  for (const [index, content] of contents.entries()) {
    if (own.has(content)) continue;
    const copy = thawed(content);
    own.add(copy);
    contents[index] = copy;
  }
  if (config?.tools !== undefined) config.tools = config.tools.map(thawed);
}

function thawed<T>(value: T): T {
  return holdsFrozen(value) ? copyPlain(value) : value;
}

function holdsFrozen(value: unknown): boolean {
  if (!Array.isArray(value) && !isPlain(value)) return false;
  return Object.isFrozen(value) || Object.values(value).some(holdsFrozen);
}
