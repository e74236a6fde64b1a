import { createHash } from 'node:crypto';
import { ArtifactError } from '../../src/artifacts/artifact-errors.ts';
import type { ContextArtifacts } from '../../src/artifacts/context-artifacts.ts';
import type { Part } from '../../src/events/content.ts';
import { defined } from '../../src/protocol/json.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { formOf, type ResolvedSpool } from '../../src/tools/spooled/spool-options.ts';
import { SPOOLED_FOLDER } from '../../src/tools/spooled/spooled-artifact.ts';
import { type CallOutcome, errorOutcome } from './settle-call.ts';

/** Bytes of media that a tool may return where its results are spooled: all are in memory. */
export const MOST_SPOOLED = 100 * 1024 * 1024;

const PREVIEW_CHARACTERS = 600;
/** A digest of the call's key: a repeated attempt saves under the same name. */
const DIGEST_CHARACTERS = 16;

/** What the model gets in place of a spooled result. */
interface SpooledHandle {
  /** Name of the artifact. */
  artifact: string;
  version: number;
  mimeType: string;
  /** Size. */
  bytes: number;
  lines?: number;
  /** The beginning of a text. */
  preview?: string;
}

interface CallToSpool {
  tool: BaseTool | undefined;
  callKey: string;
  artifacts: ContextArtifacts | undefined;
}

/**
 * The outcome of a call whose large results are kept as artifacts, where its tool declares that: the versions are recorded with it. The
 * tool has run, so a bucket that fails is the outcome.
 */
export async function spooledOutcome(outcome: CallOutcome, call: CallToSpool): Promise<CallOutcome> {
  const { tool, artifacts } = call;
  if (tool?.spool === undefined || outcome.failed || artifacts === undefined) return outcome;
  const spooling = new Spooling(tool.name, tool.spool, call.callKey, artifacts);
  try {
    return await spooling.outcome(outcome);
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error;
    const text = `Error in tool '${tool.name}': its result can't be kept as an artifact: ${error.message}; it has run`;
    return { ...errorOutcome(new Error(text)), actions: outcome.actions };
  }
}

class Spooling {
  readonly #spool: ResolvedSpool;
  readonly #artifacts: ContextArtifacts;
  readonly #path: string;
  readonly #delta: Record<string, number> = {};

  constructor(tool: string, spool: ResolvedSpool, callKey: string, artifacts: ContextArtifacts) {
    this.#spool = spool;
    this.#artifacts = artifacts;
    const digest = createHash('sha256').update(callKey).digest('hex').slice(0, DIGEST_CHARACTERS);
    this.#path = `${SPOOLED_FOLDER}${tool}/${digest}`;
  }

  async outcome(outcome: CallOutcome): Promise<CallOutcome> {
    const { parts, artifacts } = await this.#ofParts(outcome);
    const response =
      artifacts.length > 0
        ? { ...outcome.response, artifacts, note: NOTE }
        : await this.#ofResponse(outcome.response);
    if (Object.keys(this.#delta).length === 0) return outcome;
    const { actions, parts: _, ...rest } = outcome;
    const { saved = [] } = this.#artifacts;
    return {
      ...rest,
      response,
      ...(parts.length > 0 ? { parts } : {}),
      actions: {
        ...actions,
        artifactDelta: { ...actions.artifactDelta, ...this.#delta },
        ...(saved.length > 0 ? { artifacts: [...saved] } : {}),
      },
    };
  }

  /** Media that is large, and media that no model reads. */
  async #ofParts({
    parts = [],
    omitted = [],
  }: CallOutcome): Promise<{ parts: Part[]; artifacts: SpooledHandle[] }> {
    const kept: Part[] = [];
    const artifacts: SpooledHandle[] = [];
    for (const part of [...parts, ...omitted]) {
      const { data = '', mimeType = 'application/octet-stream' } = part.inlineData ?? {};
      const isSmall =
        !omitted.includes(part) && (part.inlineData === undefined || data.length <= this.#spool.over);
      if (isSmall) kept.push(part);
      else artifacts.push(await this.#save(Buffer.from(data, 'base64'), mimeType));
    }
    return { parts: kept, artifacts };
  }

  async #ofResponse(response: Record<string, unknown>): Promise<Record<string, unknown>> {
    if (Buffer.byteLength(JSON.stringify(response)) <= this.#spool.over) return response;
    const { result, ...more } = response;
    const value = result !== undefined && Object.keys(more).length === 0 ? result : response;
    const handle =
      typeof value === 'string'
        ? await this.#save(Buffer.from(value), this.#spool.mimeType)
        : // In lines, which tools read and search.
          await this.#save(Buffer.from(JSON.stringify(value, null, 1)), 'application/json');
    return { ...handle, note: NOTE };
  }

  async #save(bytes: Buffer, mimeType: string): Promise<SpooledHandle> {
    const nth = Object.keys(this.#delta).length;
    const artifact = `${this.#path}${nth === 0 ? '' : `-${nth}`}`;
    const version = await this.#artifacts.save(artifact, { stream: bytes, mimeType });
    this.#delta[artifact] = version;
    const isText = formOf(mimeType) !== 'binary';
    return {
      artifact,
      version,
      mimeType,
      bytes: bytes.length,
      ...defined({
        lines: isText ? linesIn(bytes) : undefined,
        preview: isText ? previewOf(bytes) : undefined,
      }),
    };
  }
}

const NOTE =
  'The result is too large to be told, and kept as an artifact. Query it by the artifact_… tools, which take its name.';

function linesIn(bytes: Buffer): number {
  let lines = bytes.length === 0 || bytes.at(-1) === 10 ? 0 : 1;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines += 1;
  return lines;
}

function previewOf(bytes: Buffer): string {
  // Four bytes at most for each character.
  const start = new TextDecoder().decode(bytes.subarray(0, 4 * PREVIEW_CHARACTERS), { stream: true });
  return start.length <= PREVIEW_CHARACTERS ? start : `${start.slice(0, PREVIEW_CHARACTERS).toWellFormed()}…`;
}
