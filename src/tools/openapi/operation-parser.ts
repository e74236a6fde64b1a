import { defined, isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { DocumentProblem, type OperationObject, quoted, resolved } from './openapi-document.ts';
import { ArgumentNames, functionName } from './operation-names.ts';
import { boundedSchema, type Definitions, FILE_SCHEMA, flattened, isBytes } from './operation-schema.ts';
import { isFieldName, isOfTheConnection, type ParameterStyle } from './serialize-parameters.ts';

type Json = Record<string, unknown>;

/** An argument of an operation's tool. Fields: `ApiParameter` of `@google/adk` 2.0.0. */
export interface ApiParameter {
  /** Name in the document: of the parameter, or of a property of the body. */
  originalName: string;
  /** `path`, `query`, `header`, `cookie`, `querystring` or `body`. */
  paramLocation: string;
  /** As the document has it. */
  paramSchema: object;
  description?: string;
  /** Name of the argument. */
  name: string;
  required: boolean;
}

export interface OperationParserOptions {
  /** Keeps names of arguments as the document has them, which are otherwise in snake case. @default false */
  preservePropertyNames?: boolean;
  /** The document, to which references of the operation lead. @default none */
  document?: object;
}

/** Options within Holdfast. */
export interface ParserInit extends OperationParserOptions {
  definitions?: Definitions;
  /** Headers that are not the model's, in lower case. */
  withoutHeaders?: ReadonlySet<string>;
}

/** A parameter that is sent outside of the body. */
export interface SentParameter extends ApiParameter, ParameterStyle {}

/** The body of an operation's requests. */
export interface SentBody {
  mediaType: string;
  kind: 'json' | 'form' | 'multipart' | 'text' | 'bytes';
  required: boolean;
  /** The argument that is the whole body; where it is absent, the arguments with the place `body` are its properties. */
  whole?: string;
  /** Arguments without which there is no body. */
  requiredProperties: readonly string[];
  /** Properties of forms: how they are written. */
  encoding: Readonly<Record<string, Json>>;
}

const STYLES: Readonly<Record<string, { styles: readonly string[]; default: string }>> = {
  path: { styles: ['simple', 'label', 'matrix'], default: 'simple' },
  query: {
    styles: ['form', 'spaceDelimited', 'pipeDelimited', 'tabDelimited', 'deepObject'],
    default: 'form',
  },
  header: { styles: ['simple'], default: 'simple' },
  cookie: { styles: ['form', 'cookie'], default: 'form' },
  querystring: { styles: ['form'], default: 'form' },
};

const MOST_ARGUMENTS = 250;
/** More can't be told, even with empty schemas. */
const MOST_PARAMETERS = 300;
/** Properties of a body that are looked at one by one. */
const MOST_PROPERTIES = 1_000;
/** Of the schema of a response, which is only told. */
const MOST_RESPONSE_BYTES = 4 * 1024;

/**
 * Reads one operation: its arguments, their schema, its name. Semantics: `OperationParser` of `@google/adk` 2.0.0, but every argument can
 * be reached: two of one name get names of their own that are free.
 *
 * @throws DefinitionError naming the operation, from the constructor.
 */
export class OperationParser {
  readonly #operation: OperationObject;
  readonly #definitions: Definitions;
  readonly #sent: SentParameter[] = [];
  readonly #ofBody: ApiParameter[] = [];
  #body: SentBody | undefined;
  #schema: Json | undefined;

  constructor(operation: OperationObject, options: OperationParserOptions = {}) {
    const {
      document,
      definitions,
      withoutHeaders = new Set(),
      preservePropertyNames = false,
    }: ParserInit = options;
    this.#operation = operation;
    this.#definitions = definitions ?? ((reference) => resolved(document ?? operation, { $ref: reference }));
    const names = new ArgumentNames(preservePropertyNames);
    this.#within(() => {
      this.#readParameters(names, withoutHeaders, document);
      this.#readBody(names, document);
      const count = this.getParameters().length;
      if (count > MOST_ARGUMENTS) this.#bodyAsWhole(names);
    });
  }

  /** Parameters first, then properties of the body. */
  getParameters(): ApiParameter[] {
    return [...this.#sent, ...this.#ofBody];
  }

  /** JSON Schema of the arguments. @throws DefinitionError naming the operation. */
  getJsonSchema(): Record<string, unknown> {
    this.#schema ??= this.#within(() => this.#written());
    return structuredClone(this.#schema);
  }

  /** @throws DefinitionError where the operation has no id. */
  getFunctionName(): string {
    const { operationId } = this.#operation;
    if (typeof operationId !== 'string' || operationId === '') {
      throw new DefinitionError({
        owner: 'OperationParser',
        field: 'operationId',
        problem: 'required for a name',
      });
    }
    return functionName({ method: '', path: '', operationId });
  }

  getDescription(): string {
    const { description, summary } = this.#operation;
    return description || summary || '';
  }

  /** Schema of what a call returns where it succeeds; undefined where the document has none, or not for JSON. */
  responseSchema(): Json | undefined {
    const [response] = Object.values(this.#operation.responses ?? {}) as unknown[];
    const content = isRecord(response) && isRecord(response.content) ? response.content : {};
    const json = Object.entries(content).find(([type]) => isJson(type))?.[1];
    if (!isRecord(json) || !isRecord(json.schema)) return undefined;
    const { schema } = json;
    try {
      return boundedSchema(this.#definitions, 'response', (read) => read(schema), MOST_RESPONSE_BYTES);
    } catch (error) {
      // It is only told.
      if (error instanceof DocumentProblem) return undefined;
      throw error;
    }
  }

  get sent(): readonly SentParameter[] {
    return this.#sent;
  }

  get ofBody(): readonly ApiParameter[] {
    return this.#ofBody;
  }

  get body(): SentBody | undefined {
    return this.#body;
  }

  #within<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof DocumentProblem)) throw error;
      const { operationId = 'without an id' } = this.#operation;
      throw new DefinitionError(
        { owner: `operation ${String(operationId).slice(0, 100)}`, problem: error.message },
        { cause: error },
      );
    }
  }

  #readParameters(
    names: ArgumentNames,
    withoutHeaders: ReadonlySet<string>,
    document: object | undefined,
  ): void {
    for (const [index, given] of (this.#operation.parameters ?? []).entries()) {
      const parameter = document === undefined ? given : resolved(document, given);
      if (!isRecord(parameter) || typeof parameter.name !== 'string' || typeof parameter.in !== 'string') {
        throw new DocumentProblem(
          `parameters[${index}]: expected an object with name and in, got ${kindOf(given)}`,
        );
      }
      const place = parameter.in;
      const lower = parameter.name.toLowerCase();
      if (place === 'header' && (isOwnHeader(lower) || withoutHeaders.has(lower))) continue;
      const known = Object.hasOwn(STYLES, place) ? STYLES[place] : undefined;
      if (known === undefined)
        throw new DocumentProblem(
          `parameters[${index}].in: expected ${Object.keys(STYLES).join(', ')}, got ${quoted(place)}`,
        );
      const isHeaderLike = place === 'header' || place === 'cookie';
      if (isHeaderLike && !isFieldName(parameter.name)) {
        throw new DocumentProblem(
          `parameters[${index}].name: ${quoted(parameter.name)} is no name of a ${place}`,
        );
      }
      if (this.#sent.length === MOST_PARAMETERS)
        throw new DocumentProblem(`it has more than ${MOST_PARAMETERS} parameters`);
      this.#sent.push(sentParameter(parameter, known, names));
    }
  }

  #readBody(names: ArgumentNames, document: object | undefined): void {
    const { requestBody } = this.#operation;
    const body = document === undefined ? requestBody : resolved(document, requestBody);
    if (!isRecord(body) || !isRecord(body.content)) return;
    const chosen = chosenContent(body.content);
    if (chosen === undefined) return;
    const [mediaType, media] = chosen;
    const kind = kindOfBody(mediaType);
    const required = body.required === true;
    const description = typeof body.description === 'string' ? body.description : '';
    const given: Json = isRecord(media.schema) ? media.schema : {};
    const schema = flattened(this.#definitions, given);
    const encoding = isRecord(media.encoding) ? (media.encoding as Record<string, Json>) : {};
    this.#body = { mediaType, kind, required, requiredProperties: [], encoding };
    const { properties } = schema;
    const count = isRecord(properties) ? Object.keys(properties).length : 0;
    // Some may be left out yet, but not so many.
    const isObject = count > 0 && count <= MOST_PROPERTIES && isRecord(properties) && isPlainObject(schema);
    const isSpread = isObject && (kind === 'json' || kind === 'form' || kind === 'multipart');
    if (!isSpread) {
      this.#addWhole(names, { given, description, required });
      return;
    }
    const wanted = new Set(Array.isArray(schema.required) ? schema.required : []);
    for (const [originalName, member] of Object.entries(properties)) {
      const own = flattened(this.#definitions, member);
      if (own.readOnly === true) continue;
      this.#ofBody.push({
        originalName,
        paramLocation: 'body',
        paramSchema: isRecord(member) ? member : {},
        ...(typeof own.description === 'string' ? { description: own.description } : {}),
        required: required && wanted.has(originalName),
        name: names.next(originalName),
      });
    }
    const requiredProperties = this.#ofBody
      .filter((each) => wanted.has(each.originalName))
      .map(({ name }) => name);
    this.#body = { ...this.#body, requiredProperties };
  }

  #addWhole(
    names: ArgumentNames,
    { given, description, required }: { given: Json; description: string; required: boolean },
  ): void {
    if (this.#body === undefined) return;
    const name = names.next('body');
    const { kind, mediaType } = this.#body;
    const paramSchema =
      kind === 'bytes'
        ? FILE_SCHEMA
        : kind === 'text'
          ? textSchema(this.#definitions, given, mediaType)
          : given;
    this.#ofBody.push({
      originalName: 'body',
      paramLocation: 'body',
      paramSchema,
      description,
      required,
      name,
    });
    this.#body = { ...this.#body, whole: name };
  }

  #bodyAsWhole(names: ArgumentNames): void {
    const { requestBody } = this.#operation as { requestBody?: { content?: Json } };
    const [, media] = chosenContent(requestBody?.content ?? {}) ?? [];
    this.#ofBody.length = 0;
    const given = isRecord(media?.schema) ? media.schema : {};
    this.#addWhole(names, { given, description: '', required: this.#body?.required === true });
  }

  #written(): Json {
    const parameters = this.getParameters();
    const required = parameters.filter((each) => each.required).map(({ name }) => name);
    const { whole, kind } = this.#body ?? {};
    return boundedSchema(this.#definitions, 'request', (read) => ({
      type: 'object',
      properties: Object.fromEntries(
        parameters.map(({ name, paramLocation, paramSchema, description }) => {
          const isFile = name === whole && kind === 'bytes';
          const isPart = paramLocation === 'body' && kind === 'multipart' && name !== whole;
          const schema = isFile
            ? { ...FILE_SCHEMA }
            : isPart
              ? this.#part(paramSchema, read)
              : read(paramSchema);
          const own = description === undefined || description === '' ? undefined : read({ description });
          return [name, { ...schema, ...defined({ description: own?.description ?? schema.description }) }];
        }),
      ),
      ...(required.length === 0 ? {} : { required }),
    }));
  }

  /** A property of a multipart form: some are files. */
  #part(paramSchema: object, read: (schema: unknown) => Json): Json {
    if (!isFileProperty(paramSchema, this.#definitions)) return read(paramSchema);
    const isList = flattened(this.#definitions, paramSchema).type === 'array';
    return isList ? { type: 'array', items: FILE_SCHEMA } : { ...FILE_SCHEMA };
  }
}

function sentParameter(
  parameter: Json,
  known: { styles: readonly string[]; default: string },
  names: ArgumentNames,
): SentParameter {
  const { name, in: place, schema, content, style: given, explode, allowReserved, description } = parameter;
  const style = known.styles.find((each) => each === given) ?? known.default;
  const media = isRecord(content) ? Object.entries(content)[0] : undefined;
  const own = isRecord(media?.[1]) ? media[1].schema : schema;
  const isArrayDefault = style === 'form' || style === 'cookie';
  return {
    originalName: name as string,
    paramLocation: place as string,
    paramSchema: isRecord(own) ? own : legacySchema(parameter),
    description: typeof description === 'string' ? description : '',
    name: names.next(name as string),
    required: parameter.required === true || place === 'path',
    style,
    explode: typeof explode === 'boolean' ? explode : isArrayDefault,
    allowReserved: allowReserved === true,
    ...(media === undefined ? {} : { contentType: media[0] }),
  };
}

/** XML and other texts of objects are the model's to write: JSON would be sent otherwise. */
function textSchema(definitions: Definitions, given: Json, mediaType: string): Json {
  const { type, description } = flattened(definitions, given);
  const isValue = [type].flat().every((each) => each !== undefined && each !== 'object' && each !== 'array');
  if (isValue) return given;
  const told = typeof description === 'string' && description !== '' ? `${description} ` : '';
  return { type: 'string', description: `${told}A text of the type ${mediaType.slice(0, 100)}.` };
}

/** Swagger 2 has the schema's keywords in the parameter. */
function legacySchema({ type, items, enum: values, format }: Json): Json {
  return defined({ type, items, enum: values, format });
}

/** JSON first, then forms, texts, and at last bytes. */
function chosenContent(content: Json): [string, Json] | undefined {
  const entries = Object.entries(content).filter((entry): entry is [string, Json] => isRecord(entry[1]));
  const order = ['json', 'form', 'multipart', 'text', 'bytes'];
  const ranked = entries.map(([type, media]) => [concrete(type), media] as [string, Json]);
  return ranked.sort(([a], [b]) => order.indexOf(kindOfBody(a)) - order.indexOf(kindOfBody(b)))[0];
}

/** A range of types as one of them. */
function concrete(type: string): string {
  const bare = type.trim();
  if (!/^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;[\x20-\x7e]*)?$/.test(bare)) return 'application/octet-stream';
  if (bare === '*/*' || bare === 'application/*') return 'application/json';
  if (bare === 'text/*') return 'text/plain';
  return bare.endsWith('/*') ? 'application/octet-stream' : bare;
}

function kindOfBody(mediaType: string): SentBody['kind'] {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (isJson(type)) return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  if (type === 'multipart/form-data') return 'multipart';
  if (type.startsWith('text/') || type.endsWith('xml')) return 'text';
  return 'bytes';
}

export function isJson(mediaType: string): boolean {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return type === 'application/json' || type.endsWith('+json') || type === '*/*' || type === 'text/json';
}

/** Described by other means of OpenAPI, or by the connection alone. */
function isOwnHeader(name: string): boolean {
  return ['accept', 'content-type', 'authorization', 'cookie'].includes(name) || isOfTheConnection(name);
}

/** Whether its properties are all that it has to say. */
function isPlainObject({ type, anyOf, oneOf, allOf, additionalProperties }: Json): boolean {
  const isObject =
    type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  const isOpen = isRecord(additionalProperties) || additionalProperties === true;
  return isObject && !isOpen && [anyOf, oneOf, allOf].every((each) => each === undefined);
}

/** Whether a property of a form has bytes. */
export function isFileProperty(schema: object, definitions: Definitions): boolean {
  const own = flattened(definitions, schema);
  if (isBytes(own)) return true;
  return own.type === 'array' && isRecord(own.items) && isBytes(flattened(definitions, own.items));
}
