import { markedMetadata, type Part, trustIn, withTrust } from '../events/content.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import type { SavedArtifact } from '../store/artifacts/artifact-store.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { type ArtifactStream, partFrom } from './artifact-content.ts';
import { ArtifactServiceFailed } from './artifact-errors.ts';
import { checkArtifactName } from './artifact-name.ts';
import type { ArtifactVersion, BaseArtifactService } from './base-artifact-service.ts';
import type { AttemptArtifacts, OpenArtifactOptions, OpenedArtifact } from './context-artifacts.ts';

export interface ServiceArtifactsInit {
  service: BaseArtifactService;
  /** Names of the session above all agents that tools have called. */
  names: () => Promise<SessionNames>;
  /** Versions that earlier attempts have saved; left out where attempts are not told apart. */
  once?: {
    get(key: string): Promise<unknown>;
    put(key: string, value: unknown): Promise<unknown>;
  };
  /** Whether the tool that saves is trusted; left out where the app marks nothing. */
  marks?: { trusted: boolean | undefined } | undefined;
}

/**
 * Artifacts in an app's own service, as one attempt of a call, or of a step, sees them. The service records them at once: an attempt that
 * ends between a save and its record saves that version again.
 */
export class ServiceArtifacts implements AttemptArtifacts {
  readonly #init: ServiceArtifactsInit;
  readonly #counts = new Map<string, number>();
  #names: Promise<SessionNames> | undefined;

  constructor(init: ServiceArtifactsInit) {
    this.#init = init;
  }

  get saved(): readonly SavedArtifact[] {
    return [];
  }

  restore(): void {}

  get ofStep(): this {
    return this;
  }

  async save(name: string, artifact: Part | ArtifactStream): Promise<number> {
    checkArtifactName(name);
    const { service, once, marks } = this.#init;
    const nth = this.#counts.get(name) ?? 0;
    this.#counts.set(name, nth + 1);
    const key = `holdfast.artifact/${nth}/${name}`;
    const known = await once?.get(key);
    if (isVersion(known)) return known;
    const part = await partFrom(artifact);
    const customMetadata = markedMetadata((artifact as ArtifactStream).customMetadata, marks?.trusted);
    const request = { ...(await this.#key(name)), artifact: part, ...defined({ customMetadata }) };
    const version = await asked('saveArtifact', () => service.saveArtifact(request));
    if (!isVersion(version)) throw wrongAnswer('saveArtifact', 'a version, 0 or more', version);
    await once?.put(key, version);
    return version;
  }

  async load(name: string, version?: number): Promise<Part | undefined> {
    checkArtifactName(name);
    const { service, marks } = this.#init;
    const request = { ...(await this.#key(name)), ...defined({ version }) };
    const saved = marks && (await asked('getArtifactVersion', () => service.getArtifactVersion(request)));
    // A newer version may come meanwhile, with another mark.
    const found = { ...request, ...defined({ version: saved?.version }) };
    const part: unknown = await asked('loadArtifact', () => service.loadArtifact(found));
    if (part === undefined || part === null) return undefined;
    if (!isRecord(part)) throw wrongAnswer('loadArtifact', 'a part', part);
    if (marks === undefined) return part;
    return withTrust(part, trustIn(saved?.customMetadata));
  }

  async open(name: string, options: OpenArtifactOptions = {}): Promise<OpenedArtifact | undefined> {
    const { service } = this.#init;
    const part = await this.load(name, options.version);
    if (part === undefined) return undefined;
    const version =
      options.version ??
      (await asked('listVersions', async () => service.listVersions(await this.#key(name)))).at(-1) ??
      0;
    const { fileData, inlineData, text } = part;
    const trusted = trustIn(part.partMetadata);
    if (fileData !== undefined && inlineData === undefined && text === undefined) {
      return { version, ...defined({ fileUri: fileData.fileUri, mimeType: fileData.mimeType, trusted }) };
    }
    const whole =
      inlineData === undefined ? Buffer.from(text ?? '') : Buffer.from(inlineData.data ?? '', 'base64');
    const mimeType = inlineData === undefined ? 'text/plain; charset=utf-8' : inlineData.mimeType;
    const bytes = whole.subarray(options.start ?? 0, options.end ?? whole.length);
    return { version, size: whole.length, bytes: only(bytes), ...defined({ mimeType, trusted }) };
  }

  async list(): Promise<string[]> {
    const { filename: _none, ...key } = await this.#key('');
    const names: unknown = await asked('listArtifactKeys', () => this.#init.service.listArtifactKeys(key));
    if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return [...names].sort();
    throw wrongAnswer('listArtifactKeys', 'a list of names', names);
  }

  async delete(name: string): Promise<void> {
    checkArtifactName(name);
    await asked('deleteArtifact', async () => this.#init.service.deleteArtifact(await this.#key(name)));
  }

  async versions(name: string): Promise<ArtifactVersion[]> {
    checkArtifactName(name);
    return await asked('listArtifactVersions', async () =>
      this.#init.service.listArtifactVersions(await this.#key(name)),
    );
  }

  async #key(filename: string) {
    this.#names ??= this.#init.names();
    const { app: appName, userId, sessionId } = await this.#names;
    return { appName, userId, sessionId, filename };
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  if (bytes.length > 0) yield bytes;
}

function isVersion(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

async function asked<T>(method: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    throw new ArtifactServiceFailed(`the artifact service failed in ${method}: ${thrownMessage(cause)}`, {
      cause,
    });
  }
}

function wrongAnswer(method: string, expected: string, answer: unknown): ArtifactServiceFailed {
  return new ArtifactServiceFailed(
    `the artifact service answered ${method} with ${kindOf(answer)}; it has to answer with ${expected}`,
  );
}
