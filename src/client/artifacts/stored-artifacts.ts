import type { ArtifactBytes } from '../../artifacts/artifact-bytes.ts';
import { ArtifactElsewhere, NoSuchArtifact } from '../../artifacts/artifact-errors.ts';
import { checkArtifactName } from '../../artifacts/artifact-name.ts';
import { type ARTIFACTS, type ArtifactRow, getArtifact, putArtifact } from '../../contract/artifacts.ts';
import { DEFAULT_LISTED } from '../../contract/lists.ts';
import type { Handlers, OperationsOf } from '../../contract/operation.ts';
import { defined } from '../../protocol/json.ts';
import type { StoredArtifact } from '../../store/artifacts/artifact-store.ts';
import type { Store } from '../../store/store.ts';
import { SessionNotFound } from '../../store/store-errors.ts';
import { checkedInput } from '../checked-input.ts';
import { type StoredContext, storeOf } from '../stored-context.ts';
import type { ArtifactFile, BytesWay, GetArtifact, PutArtifact } from './artifacts.ts';

const OCTETS = 'application/octet-stream';

export type DescribedArtifacts = Exclude<OperationsOf<typeof ARTIFACTS>, { bytes: string }>;

/** Performs what is done to artifacts without their bytes. */
export const storedArtifacts: Handlers<DescribedArtifacts, StoredContext> = {
  'artifacts.list': async ({ limit = DEFAULT_LISTED, after, ...names }, context) => {
    const { artifacts: stored } = storeOf(context, 'artifacts');
    const found = await stored.list(names, { limit: limit + 1, ...defined({ after }) });
    const artifacts = found.slice(0, limit).map(rowOf);
    const next = found.length > limit ? artifacts.at(-1)?.name : undefined;
    return { artifacts, ...defined({ next }) };
  },
  'artifacts.versions': async ({ name, ...names }, context) => {
    checkArtifactName(name);
    const versions = await storeOf(context, 'artifacts').artifacts.versions(names, name);
    if (versions.length === 0) throw noSuchArtifact(name);
    return { versions: versions.map(rowOf) };
  },
  'artifacts.delete': async ({ name, ...names }, context) => {
    checkArtifactName(name);
    return { deleted: await storeOf(context, 'artifacts').artifacts.delete(names, name) };
  },
};

/** Reads and saves bytes of artifacts in the store or its bucket. */
export class StoredBytes implements BytesWay {
  readonly #open: () => { store: Store; bytes: ArtifactBytes };

  /** @param open the store and the bytes, which a client without a store lacks. */
  constructor(open: () => { store: Store; bytes: ArtifactBytes }) {
    this.#open = open;
  }

  async get({ start, end, signal, ...which }: GetArtifact): Promise<ArtifactFile> {
    const { name, version, ...names } = checkedInput(getArtifact, which);
    checkArtifactName(name);
    const { store, bytes } = this.#open();
    const found = await store.artifacts.find(names, name, version);
    if (found === undefined) throw noSuchArtifact(name, version);
    const { content } = found;
    if (content.kind === 'file' || found.bytes === undefined) {
      throw new ArtifactElsewhere(
        `${JSON.stringify(name)} is an address, and Holdfast has no bytes of it: \`artifacts.versions\` has its uri`,
      );
    }
    const range = defined({ start, end });
    return {
      name,
      version: found.version,
      ...defined({ mimeType: rowOf(found).mimeType }),
      ...found.bytes,
      bytes: untilAborted(bytes.read(content.blob, range), signal),
    };
  }

  async put({ bytes: source, signal, ...file }: PutArtifact): Promise<ArtifactRow> {
    const { name, mimeType = OCTETS, saveId, ...names } = checkedInput(putArtifact, file);
    checkArtifactName(name);
    const { store, bytes } = this.#open();
    if (!name.startsWith('user:') && (await store.sessions.find(names)) === undefined) throw noSession(names);
    const { blob } = await bytes.keep(names.app, source, signal);
    const version = await store.artifacts.save({
      ...names,
      name,
      content: { kind: 'inline', blob, mimeType },
      ...(saveId === undefined ? {} : { key: `client/${saveId}` }),
    });
    if (version === undefined) throw noSession(names);
    const saved = await store.artifacts.find(names, name, version);
    if (saved === undefined) throw noSuchArtifact(name, version);
    return rowOf(saved);
  }
}

function rowOf({
  name,
  version,
  content,
  bytes,
  metadata: customMetadata,
  savedAt,
}: StoredArtifact): ArtifactRow {
  const { kind, blob: _blob, ...described } = { blob: undefined, ...content };
  const text = kind === 'text' ? { mimeType: 'text/plain; charset=utf-8' } : {};
  return { name, version, ...text, ...described, ...bytes, ...defined({ customMetadata }), savedAt };
}

async function* untilAborted(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const block of bytes) {
    signal?.throwIfAborted();
    yield block;
  }
}

function noSuchArtifact(name: string, version?: number): NoSuchArtifact {
  const which = version === undefined ? '' : ` in version ${version}`;
  return new NoSuchArtifact(`there is no artifact ${JSON.stringify(name)}${which}`);
}

function noSession({ sessionId }: { sessionId: string }): SessionNotFound {
  return new SessionNotFound(`there is no session ${sessionId}: send a message first, or create the session`);
}
