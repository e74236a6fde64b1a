import { parentPort, workerData } from 'node:worker_threads';
import { defined, isRecord } from '../../protocol/json.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { DocumentProblem, type SecuritySchemeObject } from './openapi-document.ts';
import { readOperations, referencedIn } from './read-operations.ts';

/** Start argument of the thread. */
export interface DocumentThreadData {
  text: string;
  /** @default told from the text */
  type?: 'json' | 'yaml';
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
  | { problem: string }
  | {
      title: string;
      operations: readonly OperationText[];
      /** JSON by reference. */
      definitions: ReadonlyMap<string, string>;
      securitySchemes: Readonly<Record<string, SecuritySchemeObject>>;
    };

/** Characters of a parser's message, which may quote the document. */
const LONGEST_PROBLEM = 300;

parentPort?.postMessage(await read(workerData as DocumentThreadData));

async function read(data: DocumentThreadData): Promise<DocumentThreadMessage> {
  try {
    const document = await inThree(await parsed(data));
    const { title, operations, securitySchemes } = readOperations(document);
    const found = new Map<string, unknown>();
    const texts = operations.map(({ method, path, operation, problem }): OperationText => {
      referencedIn(document, operation, found);
      const { operationId, tags = [] } = operation;
      return { method, path, tags, ...defined({ operationId, problem }), text: JSON.stringify(operation) };
    });
    const definitions = new Map(
      [...found].map(([reference, value]) => [reference, JSON.stringify(value) ?? 'null']),
    );
    return { title, operations: texts, definitions, securitySchemes };
  } catch (error) {
    const problem = messageOf(error).slice(0, LONGEST_PROBLEM).toWellFormed();
    return { problem: error instanceof DocumentProblem ? problem : `it can't be read: ${problem}` };
  }
}

async function parsed({ text, type }: DocumentThreadData): Promise<unknown> {
  const isJson = type === 'json' || (type === undefined && /^\uFEFF?\s*[{[]/.test(text));
  if (isJson) return JSON.parse(text.replace(/^\uFEFF/, ''));
  const { normalize } = await parser('YAML');
  return normalize(text);
}

/** OpenAPI 3 is read as it is: to write 10 MB of 3.0 as 3.1 takes longer than all the rest. */
async function inThree(document: unknown): Promise<unknown> {
  if (!isRecord(document) || document.swagger === undefined) return document;
  if (!/^2(?:\.|$)/.test(String(document.swagger))) {
    throw new DocumentProblem('it is of a Swagger before 2.0; convert it to OpenAPI 3');
  }
  const { upgrade } = await parser('Swagger 2');
  return upgrade(document).specification;
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
