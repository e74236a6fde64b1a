import { checkArtifactName } from '../../artifacts/artifact-name.ts';
import { type ArtifactRow, getArtifact, putArtifact } from '../../contract/artifacts.ts';
import { defined } from '../../protocol/json.ts';
import { checkedInput } from '../checked-input.ts';
import { type GatewayConnection, requestFor } from '../gateway-connection.ts';
import type { ArtifactFile, BytesWay, GetArtifact, PutArtifact } from './artifacts.ts';

const SHA256 = /^"([0-9a-f]{64})"$/;

/** Sends and fetches bytes of artifacts. */
export class GatewayBytes implements BytesWay {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  async get({ start = 0, end, signal, ...which }: GetArtifact): Promise<ArtifactFile> {
    const input = checkedInput(getArtifact, which);
    const isRange = start > 0 || end !== undefined;
    // No header asks for no bytes: the first one is left out here.
    const last = end === undefined ? '' : Math.max(end, start + 1) - 1;
    const headers = { accept: '*/*', ...(isRange ? { range: `bytes=${start}-${last}` } : {}) };
    const answer = await this.#connection.send(...requestFor(getArtifact, input, { headers, signal }));
    const isEmpty = (end !== undefined && end <= start) || answer.status === 416;
    if (!answer.ok && answer.status !== 416) throw await this.#connection.failure(answer, signal);
    const { size, sha256, version } = this.#described(answer);
    const mimeType = answer.headers.get('content-type') ?? undefined;
    const bytes = isEmpty ? cancelled(answer) : this.#read(answer, signal);
    return { name: input.name, version, ...defined({ mimeType }), size, sha256, bytes };
  }

  async put({ bytes, signal, ...file }: PutArtifact): Promise<ArtifactRow> {
    const input = checkedInput(putArtifact, file);
    checkArtifactName(input.name);
    const mimeType = input.mimeType ?? 'application/octet-stream';
    const [path, request] = requestFor(putArtifact, { ...input, mimeType }, { signal });
    const answer = await this.#connection.ask(path, { ...request, bytes });
    return this.#connection.checked(putArtifact, answer);
  }

  #described({ headers, status }: Response): { size: number; sha256: string; version: number } {
    const [, ofRange] = /\/(\d+)$/.exec(headers.get('content-range') ?? '') ?? [];
    const size = Number(ofRange ?? headers.get('content-length') ?? Number.NaN);
    const [, sha256] = SHA256.exec(headers.get('etag') ?? '') ?? [];
    const version = Number(headers.get('x-artifact-version') ?? Number.NaN);
    if (sha256 !== undefined && Number.isSafeInteger(size) && Number.isSafeInteger(version)) {
      return { size, sha256, version };
    }
    throw this.#connection.unreachable(undefined, `has answered ${status} with bytes as no gateway does`);
  }

  async *#read(answer: Response, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void, void> {
    try {
      yield* answer.body ?? [];
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#connection.unreachable(
        error,
        'has broken off the bytes: they can’t be read, or it was stopped',
      );
    }
  }
}

async function* cancelled(answer: Response): AsyncGenerator<Uint8Array, void, void> {
  await answer.body?.cancel();
  yield* [];
}
