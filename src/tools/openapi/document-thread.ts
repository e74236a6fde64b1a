import { parentPort, workerData } from 'node:worker_threads';
import { hasCode } from '../../contract/error.ts';
import type { SecuritySchemeObject } from '../../events/auth-scheme.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { addExternalDocuments, type ExternalPlace } from './external-documents.ts';
import { DocumentProblem, resolved } from './openapi-document.ts';
import { readOperations, referencedIn } from './read-operations.ts';

/** Start argument of the thread. */
export interface DocumentThreadData {
  text: string;
  /** @default told from the text */
  type?: 'json' | 'yaml';
  /** @default none is followed */
  external?: ExternalPlace;
}

/** An operation, with the rest of it as JSON: a text is handed over at once, however long it is. */
export interface OperationText {
  method: string;
  path: string;
  operationId?: string;
  tags: readonly string[];
  problem?: string;
  text: string;
}

/** The thread's only message: the document, or why it is none. */
export type DocumentThreadMessage =
  | {
      problem: string;
      /** A server gave none of its documents, which may pass. */
      isAway: boolean;
    }
  | {
      title: string;
      operations: readonly OperationText[];
      /** JSON by reference. */
      definitions: ReadonlyMap<string, string>;
      securitySchemes: Readonly<Record<string, SecuritySchemeObject>>;
    };

/** Characters of a parser's message, which may quote the document. */
const LONGEST_PROBLEM = 300;
/** Characters. */
const LEAST_ROOM = 64 * 1024 * 1024;

/** References multiply what a document has: the room for what is written of it. */
class Room {
  readonly #most: number;
  #left: number;

  constructor({ length }: string) {
    this.#most = Math.max(LEAST_ROOM, 4 * length);
    this.#left = this.#most;
  }

  /** @throws DocumentProblem where there is no more room. */
  written(value: unknown): string {
    const text = JSON.stringify(value) ?? 'null';
    this.#left -= text.length;
    if (this.#left >= 0) return text;
    const most = Math.floor(this.#most / 1024 / 1024);
    throw new DocumentProblem(
      `with its references written out it has more than ${most} MiB: take a document of fewer operations`,
    );
  }
}

parentPort?.postMessage(await read(workerData as DocumentThreadData));

async function read(data: DocumentThreadData): Promise<DocumentThreadMessage> {
  try {
    const room = new Room(data.text);
    const document = await inThree(await parsed(data), room);
    const { external } = data;
    if (external !== undefined) await addExternalDocuments(document, external, (text) => parsed({ text }));
    const { title, operations, securitySchemes } = readOperations(document);
    const found = new Map<string, unknown>();
    const texts = operations.map(({ method, path, operation, problem }): OperationText => {
      referencedIn(document, operation, found);
      const { operationId, tags = [] } = operation;
      const text = room.written(operation);
      return { method, path, tags, ...defined({ operationId, problem }), text };
    });
    const definitions = new Map([...found].map(([reference, value]) => [reference, room.written(value)]));
    return { title, operations: texts, definitions, securitySchemes };
  } catch (error) {
    const problem = messageOf(error).slice(0, LONGEST_PROBLEM).toWellFormed();
    if (!(error instanceof DocumentProblem))
      return { problem: `it can't be read: ${problem}`, isAway: false };
    return { problem, isAway: hasCode(error.cause, 'HOLDFAST_FETCH_FAILED') };
  }
}

async function parsed({ text, type }: DocumentThreadData): Promise<unknown> {
  const isJson = type === 'json' || (type === undefined && /^\uFEFF?\s*[{[]/.test(text));
  if (isJson) return JSON.parse(text.replace(/^\uFEFF/, ''));
  const { normalize } = await parser('YAML');
  return normalize(text);
}

/** OpenAPI 3 is read as it is: to write 10 MB of 3.0 as 3.1 takes longer than all the rest. */
async function inThree(document: unknown, room: Room): Promise<unknown> {
  if (!isRecord(document) || document.swagger === undefined) return document;
  if (!/^2(?:\.|$)/.test(String(document.swagger))) {
    throw new DocumentProblem('it is of a Swagger before 2.0; convert it to OpenAPI 3');
  }
  const { upgrade } = await parser('Swagger 2');
  prepareParameters(document, room);
  return upgrade(document).specification;
}

/**
 * Bodies are parameters of Swagger 2, and shared ones would stay references among the parameters, where OpenAPI 3 has none: they are
 * written out. It has no separation by tabs either.
 */
function prepareParameters(document: Record<string, unknown>, room: Room): void {
  const { paths } = document;
  const prepared = (given: unknown): unknown => {
    const parameter = targetOr(document, given);
    if (!isRecord(parameter)) return given;
    if (parameter.in === 'query' && parameter.collectionFormat === 'tsv')
      Object.assign(parameter, { style: 'tabDelimited', explode: false });
    const isBody = parameter.in === 'body' || parameter.in === 'formData';
    return isBody && parameter !== given ? JSON.parse(room.written(parameter)) : given;
  };
  for (const item of Object.values(isRecord(paths) ? paths : {})) {
    if (!isRecord(item)) continue;
    for (const holder of [item, ...Object.values(item)]) {
      if (isRecord(holder) && Array.isArray(holder.parameters))
        holder.parameters = holder.parameters.map(prepared);
    }
  }
}

function targetOr(document: object, given: unknown): unknown {
  try {
    return resolved(document, given);
  } catch (error) {
    // The operation says so.
    if (error instanceof DocumentProblem) return undefined;
    throw error;
  }
}

async function parser(of: string) {
  try {
    return await import('@scalar/openapi-parser');
  } catch {
    throw new DocumentProblem(
      `${of} needs a package that is not installed: npm install @scalar/openapi-parser`,
    );
  }
}
