import { ArtifactError } from '../../artifacts/artifact-errors.ts';
import { type FunctionDeclaration, type Part, trustIn, withTrust } from '../../events/content.ts';
import { appendInstructions } from '../../models/llm-request.ts';
import { defined } from '../../protocol/json.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { type LinearPattern, linearPattern } from '../../schema/linear-pattern.ts';
import { BaseTool, type RunAsyncToolRequest, type ToolProcessLlmRequest, toolOwner } from '../base-tool.ts';
import type { Context } from '../context.ts';
import { InvocationContext } from '../invocation-context.ts';
import { askedNames, type NamingTool, namesIn, namingDeclaration } from '../named-contents.ts';
import { SPOOLED_FOLDER } from '../spooled/spooled-artifact.ts';

const NAME = 'load_artifacts';

/** Text of `@google/adk` 2.0.0: models have learnt to follow it. */
const LOADED =
  'artifact contents temporarily inserted and removed. to access these artifacts, call load_artifacts tool again.';

/** Types that Gemini takes as bytes. */
const INLINE = /^(image\/|audio\/|video\/|application\/pdf$)/;
/** Types beside `text/…` whose bytes are text. */
const TEXT_TYPES = new Set(['application/csv', 'application/json', 'application/xml']);

/** Artifacts that one call can load, and that one request gets of preloaded ones. */
const MOST_LOADED = 64;

const LOADING: NamingTool = {
  name: NAME,
  description: `Loads artifacts into the session for this request.

NOTE: Call when you need access to artifacts (for example, uploads saved by the web UI).`,
  field: 'artifact_names',
  names: 'The names of the artifacts to load.',
  most: MOST_LOADED,
};

/** Characters of a name of `preload`. */
const LONGEST_PATTERN = 200;

export interface LoadArtifactsToolOptions {
  /**
   * Artifacts that each request has, whether the model asks for them or not: names, in which `*` stands for any characters but a slash.
   * Semantics: `loadartifactstool` of adk-go, which loads all.
   *
   * @default none
   * @example new LoadArtifactsTool({ preload: ['user:profile.json', 'brief/*.md'] })
   */
  preload?: readonly string[];
}

/**
 * `load_artifacts`: the model names artifacts, and the next request has their contents. They are no part of the transcript: the model calls
 * the tool again when it needs them again. Semantics: `LoadArtifactsTool` of `@google/adk` 2.0.0; `preload` is ours.
 *
 * @throws DefinitionError from the constructor: the error names the option.
 * @example new LlmAgent({ name: 'analyst', model: 'gemini-2.5-flash', tools: [LOAD_ARTIFACTS] })
 */
export class LoadArtifactsTool extends BaseTool {
  readonly #preload: readonly LinearPattern[];

  constructor(options: LoadArtifactsToolOptions = {}) {
    super({
      name: NAME,
      trusted: true,
      description: LOADING.description,
    });
    const { preload = [] } = options;
    if (!Array.isArray(preload) || preload.some((each) => typeof each !== 'string' || each === '')) {
      const problem = `expected names of artifacts, got ${kindOf(preload)}`;
      throw new DefinitionError({ owner: toolOwner('LoadArtifactsTool', NAME), field: 'preload', problem });
    }
    this.#preload = preload.map((pattern) => {
      const known = patternOf(pattern);
      if (known !== undefined) return known;
      const problem = `expected names of at most ${LONGEST_PATTERN} characters`;
      throw new DefinitionError({ owner: toolOwner('LoadArtifactsTool', NAME), field: 'preload', problem });
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return namingDeclaration(LOADING);
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    return { artifact_names: namesIn(args, LOADING), status: LOADED };
  }

  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest({ toolContext, llmRequest });
    if (InvocationContext.initOf(toolContext.invocationContext).artifacts === undefined) return;
    const names = await unlessBroken(
      () => toolContext.listArtifacts(),
      () => [],
    );
    if (names.length === 0) return;
    appendInstructions(llmRequest, [
      `You have a list of artifacts:
  ${JSON.stringify(names)}

  When the user asks questions about any of the artifacts, you should call the
  \`load_artifacts\` function to load the artifact. Always call load_artifacts
  before answering questions related to the artifacts, regardless of whether the
  artifacts have been loaded before. Do not depend on prior answers about the
  artifacts.`,
    ]);
    const preloaded = names.filter((name) => this.#preload.some((pattern) => pattern.test(name)));
    const asked = askedNames(llmRequest.contents, LOADING);
    for (const name of [...new Set([...preloaded.slice(0, MOST_LOADED), ...asked])]) {
      const part = await loaded(toolContext, name);
      const parts = part && [{ text: `Artifact ${visibleLines(name)} is:` }, part];
      if (parts !== undefined) llmRequest.contents.push({ role: 'user', parts });
    }
  }
}

/** The {@link LoadArtifactsTool} without options. */
export const LOAD_ARTIFACTS = new LoadArtifactsTool();

/** A name that the session lacks may be the user's. */
async function loaded(context: Context, name: string): Promise<Part | undefined> {
  const part =
    (await found(context, name)) ??
    (name.startsWith('user:') ? undefined : await found(context, `user:${name}`));
  if (part === undefined) return undefined;
  // A result that was kept before its app marked anything is a tool's, too.
  const trusted = trustIn(part.partMetadata) ?? (name.startsWith(SPOOLED_FOLDER) ? false : undefined);
  return withTrust({ ...readable(part, name), ...defined({ partMetadata: part.partMetadata }) }, trusted);
}

/** A line in place of an artifact that can't be read; undefined for a name that none can have, which the model made up. */
async function found(context: Context, name: string): Promise<Part | undefined> {
  return await unlessBroken(
    () => context.loadArtifact(name),
    ({ code, message }) =>
      code === 'HOLDFAST_INVALID_ARTIFACT_NAME'
        ? undefined
        : { text: `[Artifact: ${name}. It could not be read: ${message}]` },
  );
}

/** The model reads about a broken artifact, bucket or service, and may call again; a store that fails is asked again. */
async function unlessBroken<T>(ask: () => Promise<T>, otherwise: (error: ArtifactError) => T): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ArtifactError) return otherwise(error);
    throw error;
  }
}

/** As a model can take it: bytes of types that it knows, text, or a line about the rest. */
function readable(part: Part, name: string): Part {
  const { inlineData } = part;
  if (inlineData === undefined) return part;
  const type = inlineData.mimeType?.split(';', 1)[0]?.trim() || 'application/octet-stream';
  if (INLINE.test(type)) return part;
  const { data } = inlineData;
  if (!data) return { text: `[Artifact: ${name}, type: ${type}. No inline data was provided.]` };
  const bytes = Buffer.from(data, 'base64');
  if (type.startsWith('text/') || TEXT_TYPES.has(type)) return { text: bytes.toString() };
  const size = (bytes.length / 1_024).toFixed(1);
  return {
    text: `[Binary artifact: ${name}, type: ${type}, size: ${size} KB. Content cannot be displayed inline.]`,
  };
}

function patternOf(pattern: string): LinearPattern | undefined {
  if (pattern.length > LONGEST_PATTERN) return undefined;
  const texts = pattern.split('*').map((text) => text.replaceAll(/[.+?^${}()|[\]\\/]/g, '\\$&'));
  return linearPattern(`^${texts.join('[^/]*')}$`);
}
