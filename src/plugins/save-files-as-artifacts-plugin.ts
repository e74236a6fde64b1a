import type { Content, Part } from '../events/content.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import { Context } from '../tools/context.ts';
import { ServiceMissing } from '../tools/context-services.ts';
import { BasePlugin } from './base-plugin.ts';
import type { PluginParams } from './plugin-failed.ts';
import { LINES, neverFailing, type PluginLogger } from './plugin-logger.ts';

export interface SaveFilesAsArtifactsPluginOptions {
  /** @default 'save_files_as_artifacts_plugin' */
  name?: string;
  /**
   * Is told of files that could not be saved.
   *
   * @default lines for the logger of `setLogger`, else on standard error
   */
  logger?: PluginLogger;
}

/**
 * Saves the files of the user's messages as artifacts: the transcript gets `[Uploaded Artifact: "name"]` in their place. The
 * name is the file's `displayName`, else `artifact_<invocation id>_<position>`. A file that can't be saved stays in the
 * message.
 *
 * Semantics: `SaveFilesAsArtifactsPlugin` of adk-python.
 */
export class SaveFilesAsArtifactsPlugin extends BasePlugin {
  readonly #logger: PluginLogger;
  #toldOfNoService = false;

  constructor({
    name = 'save_files_as_artifacts_plugin',
    logger = LINES,
  }: SaveFilesAsArtifactsPluginOptions = {}) {
    super(name);
    this.#logger = neverFailing(logger);
  }

  override async onUserMessageCallback({
    invocationContext,
    userMessage,
  }: PluginParams<'onUserMessageCallback'>): Promise<Content | undefined> {
    const { parts = [] } = userMessage;
    if (!parts.some(({ inlineData }) => inlineData !== undefined)) return undefined;
    const context = new Context({ invocationContext });
    const kept: Part[] = [];
    for (const [index, part] of parts.entries()) kept.push(await this.#save(context, part, index));
    return kept.every((part, index) => part === parts[index]) ? undefined : { ...userMessage, parts: kept };
  }

  async #save(context: Context, part: Part, index: number): Promise<Part> {
    if (part.inlineData === undefined) return part;
    const { invocationId } = context;
    const name = part.inlineData.displayName || `artifact_${invocationId}_${index}`;
    try {
      await context.saveArtifact(name, { ...part });
      return { text: `[Uploaded Artifact: "${name}"]` };
    } catch (error) {
      this.#tell(error, { invocationId, part: index });
      return part;
    }
  }

  #tell(error: unknown, place: Record<string, unknown>): void {
    if (!(error instanceof ServiceMissing)) {
      this.#logger.warn(`[${this.name}] a file was not saved`, { ...place, error: thrownMessage(error) });
    } else if (!this.#toldOfNoService) {
      this.#toldOfNoService = true;
      this.#logger.warn(`[${this.name}] there is no artifact service: files stay in the messages`);
    }
  }
}
