import { codedError } from '../../contract/error.ts';
import { isRecord } from '../../protocol/json.ts';

/** An operation of OpenAPI 3.0, 3.1 or 3.2. Fields that Holdfast reads; the types of other packages fit. */
export interface OperationObject {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  deprecated?: boolean;
  parameters?: readonly object[];
  requestBody?: object;
  responses?: object;
  security?: readonly object[];
  servers?: readonly object[];
}

/** Schemes that go together, by name, with their scopes. None: the operation is open to anybody. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

export interface ServerObject {
  url: string;
  description?: string;
  name?: string;
  variables?: Readonly<Record<string, { default?: string; enum?: readonly string[] }>>;
}

/** References that lead to references, at most. */
const LONGEST_CHAIN = 20;
/** Characters of a text of the document in an error. */
const QUOTED = 120;

/** The reason why a part of a document can't be used: told with the operation that it belongs to. */
export class DocumentProblem extends codedError('HOLDFAST_OPENAPI_DOCUMENT') {}

/** A text of the document, for messages. */
export function quoted(text: unknown): string {
  return JSON.stringify(String(text).slice(0, QUOTED).toWellFormed());
}

/**
 * The value that a reference within a document leads to, through further references.
 *
 * @throws DocumentProblem for one that leads out of the document, to nothing or back to itself.
 */
export function resolved(document: unknown, value: unknown): unknown {
  let found = value;
  for (let links = 0; isRecord(found) && typeof found.$ref === 'string'; links += 1) {
    if (links === LONGEST_CHAIN) throw new DocumentProblem(`${quoted(found.$ref)} leads back to itself`);
    found = target(document, found.$ref);
  }
  return found;
}

/** The problem of a reference that can't be followed. */
export function leadsNowhere(reference: string): DocumentProblem {
  const isOutside = !reference.startsWith('#');
  const where = isOutside
    ? 'another document, which is not followed: allow its address by externalRefs of OpenAPIToolset, or bundle both into one'
    : 'nothing';
  return new DocumentProblem(`$ref ${quoted(reference)} leads to ${where}`);
}

/** @throws DocumentProblem */
export function target(document: unknown, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) {
    throw leadsNowhere(reference);
  }
  let found = document;
  for (const token of reference.split('/').slice(1)) {
    const name = unescaped(token);
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, name);
    if (!isThere) throw leadsNowhere(reference);
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

function unescaped(token: string): string {
  let text = token;
  try {
    text = decodeURIComponent(token);
  } catch {
    // A name may have a percent sign that escapes nothing.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}
