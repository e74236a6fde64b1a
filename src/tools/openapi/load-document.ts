import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { HoldfastError } from '../../contract/error.ts';
import type { SecuritySchemeObject } from '../../events/auth-scheme.ts';
import { guardedFetch } from '../../net/guarded-fetch.ts';
import { moduleFile } from '../../own-files.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { answerOfThread } from '../../schema/thread-answer.ts';
import { inSlices } from '../in-slices.ts';
import type { DocumentThreadData, DocumentThreadMessage } from './document-thread.ts';
import type { ExternalPlace } from './external-documents.ts';
import { DocumentProblem, type OperationObject, resolved } from './openapi-document.ts';
import { type Definitions, definitionsOf } from './operation-schema.ts';
import { readingOperations } from './read-operations.ts';

/** Where a document is: in memory, or at an address. */
export type DocumentSource = (
  | { document: object }
  | { text: string; type?: 'json' | 'yaml' }
  | { url: string | URL; allow: readonly string[] }
) & { external?: ExternalPlace };

/** An operation of a loaded document. */
export interface LoadedOperation {
  method: string;
  path: string;
  operationId?: string;
  tags: readonly string[];
  problem?: string;
  /** Read when it is asked for. */
  operation: () => OperationObject;
}

export interface LoadedDocument {
  title: string;
  operations: readonly LoadedOperation[];
  securitySchemes: Readonly<Record<string, SecuritySchemeObject>>;
  definitions: Definitions;
}

const MOST_BYTES = 64 * 1024 * 1024;
/** Milliseconds. */
const FETCH_TIME = 30_000;
/** Mebibytes of a thread's heap: documents of 64 MiB need less. */
const MOST_HEAP = 2_048;

/**
 * Reads a document. A text is parsed in a thread, so that the worker goes on meanwhile.
 *
 * @throws DocumentProblem
 * @throws HOLDFAST_FETCH_FAILED, HOLDFAST_ADDRESS_REFUSED
 */
export async function loadDocument(source: DocumentSource): Promise<LoadedDocument> {
  const { external } = source;
  if ('document' in source) {
    const { document } = source;
    // To convert it takes long.
    if ((isRecord(document) && document.swagger !== undefined) || external !== undefined)
      return await parsedInThread({ text: jsonOf(document), type: 'json', ...defined({ external }) });
    return await ofObject(document);
  }
  if ('text' in source) return await parsedInThread(source);
  const text = await textAt(source);
  return await parsedInThread({ text, ...defined({ external }) });
}

function jsonOf(document: object): string {
  try {
    return JSON.stringify(document);
  } catch (error) {
    throw new DocumentProblem(`it is no JSON: ${messageOf(error).slice(0, 200)}`);
  }
}

async function ofObject(document: object): Promise<LoadedDocument> {
  const { title, operations, securitySchemes } = await inSlices(readingOperations(document));
  return {
    title,
    securitySchemes,
    operations: operations.map(({ operation, ...rest }) => ({
      ...rest,
      ...(operation.operationId === undefined ? {} : { operationId: operation.operationId }),
      tags: operation.tags ?? [],
      operation: () => operation,
    })),
    definitions: (reference) => resolved(document, { $ref: reference }),
  };
}

async function parsedInThread(data: DocumentThreadData): Promise<LoadedDocument> {
  if (data.text.length > MOST_BYTES) throw tooLarge();
  const thread = moduleFile('src/tools/openapi/document-thread');
  const message = await answerOfThread<DocumentThreadMessage>(thread, data, { heap: MOST_HEAP }).catch(
    (error: unknown) => {
      throw new DocumentProblem(`it can't be read: ${messageOf(error).slice(0, 200)}`);
    },
  );
  if ('problem' in message) {
    if (message.isAway) throw new HoldfastError('HOLDFAST_FETCH_FAILED', message.problem);
    throw new DocumentProblem(message.problem);
  }
  const { title, operations, definitions, securitySchemes } = message;
  return {
    title,
    securitySchemes,
    operations: operations.map(({ text, ...rest }) => ({
      ...rest,
      operation: () => JSON.parse(text) as OperationObject,
    })),
    definitions: definitionsOf(definitions),
  };
}

async function textAt({ url, allow }: { url: string | URL; allow: readonly string[] }): Promise<string> {
  const address = String(url);
  if (/^https?:/i.test(address)) {
    const options = { allow, timeout: FETCH_TIME, maxBytes: MOST_BYTES, leavesHost: true };
    const { status, body, cut } = await guardedFetch(address, {}, options);
    if (status !== 200) throw new HoldfastError('HOLDFAST_FETCH_FAILED', `the server answered ${status}`);
    if (cut) throw tooLarge();
    return body.toString('utf8');
  }
  const path = address.startsWith('file:') ? fileURLToPath(address) : address;
  try {
    const { size } = await stat(path);
    if (size > MOST_BYTES) throw tooLarge();
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof DocumentProblem) throw error;
    throw new DocumentProblem(`the file can't be read: ${messageOf(error)}`);
  }
}

function tooLarge(): DocumentProblem {
  return new DocumentProblem(`it has more than ${MOST_BYTES / 1024 / 1024} MiB`);
}
