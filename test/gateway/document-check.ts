import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Gateway } from '../../src/gateway/index.ts';

interface Answer {
  content?: Record<string, { schema: object }>;
}

interface Operation {
  operationId: string;
  tags?: string[];
  security?: object[];
  'x-holdfast-permission'?: string;
  parameters?: { name: string; in: string; required?: boolean }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, Answer>;
}

interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

export interface Document {
  openapi: string;
  info: { version: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

/** Holds answers against what the gateway's document says of them. */
export class DocumentCheck {
  readonly document: Document;
  /** `<operationId> <status>` of what was held against it. */
  readonly seen = new Set<string>();
  /** Documented fields that answers had, as `Job.polls.notYet`. */
  readonly answered = new Set<string>();
  /** Fields of answers that the document lacks. */
  readonly undocumented = new Set<string>();
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: Document) {
    this.document = document;
  }

  /** @throws where the document says nothing of it, or something else. */
  check(method: string, path: string, status: number, type: string, body: unknown): void {
    const found = this.#find(path);
    const operation = found?.[1][method.toLowerCase()];
    if (found === undefined || operation === undefined)
      throw new Error(`the document has no ${method} ${path}`);
    const what = `${operation.operationId} ${status}`;
    const content = operation.responses[status]?.content ?? {};
    const named = type.split(';', 1)[0] ?? '';
    const media = content[named] === undefined && content['*/*'] !== undefined ? '*/*' : named;
    if (content[media] === undefined) throw new Error(`the document has no ${media} for ${what}`);
    this.seen.add(what);
    if (media !== 'application/json') return;
    const steps = [
      'paths',
      found[0],
      method.toLowerCase(),
      'responses',
      String(status),
      'content',
      media,
      'schema',
    ];
    const validate = this.validator(steps);
    if (!validate(body))
      throw new Error(`${what}: ${this.#ajv.errorsText(validate.errors)}: ${JSON.stringify(body)}`);
    this.#noteFields(content[media].schema, body, operation.operationId);
  }

  /** Of the schema at a place of the document. */
  validator(steps: readonly string[]): ValidateFunction {
    const place = steps.join(' ');
    let validate = this.#validators.get(place);
    if (validate === undefined) {
      const schema = steps.reduce<unknown>(
        (at, step) => (at as Record<string, unknown>)[step],
        this.document,
      );
      // References begin at the document's root.
      validate = this.#ajv.compile({ ...(schema as object), components: this.document.components });
      this.#validators.set(place, validate);
    }
    return validate;
  }

  /** Documented fields of a named schema that no answer had. */
  unanswered(name: string): string[] {
    return fieldsOf(this.document.components.schemas[name] ?? {}, name).filter(
      (field) => !this.answered.has(field),
    );
  }

  #noteFields(of: Schema, value: unknown, place: string): void {
    const name = of.$ref?.slice('#/components/schemas/'.length);
    const schema: Schema = name === undefined ? of : (this.document.components.schemas[name] ?? {});
    const at = name ?? place;
    if (Array.isArray(value)) {
      for (const item of value) this.#noteFields(schema.items ?? {}, item, at);
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    const branch = (schema.anyOf ?? []).find((each) => {
      const named = each.$ref === undefined ? each : this.document.components.schemas[each.$ref.slice(21)];
      return ((named as Schema | undefined)?.required ?? []).every((field) => field in value);
    });
    if (branch !== undefined) this.#noteFields(branch, value, at);
    const { properties } = schema;
    if (properties === undefined) return;
    for (const [field, content] of Object.entries(value)) {
      const own = properties[field];
      (own === undefined ? this.undocumented : this.answered).add(`${at}.${field}`);
      if (own !== undefined) this.#noteFields(own, content, `${at}.${field}`);
    }
  }

  /** Operations of a section that were never answered with success. */
  unseen(tag: string): string[] {
    const operations = Object.values(this.document.paths).flatMap((methods) => Object.values(methods));
    return operations
      .filter(({ tags = [] }) => tags.includes(tag))
      .map(({ operationId }) => operationId)
      .filter((id) => ![...this.seen].some((each) => each.startsWith(`${id} 2`)));
  }

  #find(path: string): [string, Record<string, Operation>] | undefined {
    return Object.entries(this.document.paths).find(([template]) =>
      new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
  }
}

/** Those of schemas of other names left out. */
function fieldsOf({ properties = {} }: Schema, at: string): string[] {
  return Object.entries(properties).flatMap(([field, of]) => [
    `${at}.${field}`,
    ...fieldsOf(of.items ?? of, `${at}.${field}`),
  ]);
}

export async function readDocument(gateway: Gateway, host: string): Promise<Document> {
  const answer = await gateway.request(`http://${host}/openapi.json`, { headers: { host } });
  return (await answer.json()) as Document;
}

/** Of a gateway that listens. */
export async function fetchDocument(url: string): Promise<Document> {
  return (await (await fetch(`${url}/openapi.json`)).json()) as Document;
}

/** `fetch` that holds every JSON answer against the document. */
export function checkedFetch(check: DocumentCheck): typeof fetch {
  return async (url, init) => {
    const answer = await fetch(url, init);
    const { pathname } = new URL(String(url));
    const type = answer.headers.get('content-type') ?? '';
    const body = type.startsWith('application/json') ? await answer.clone().json() : undefined;
    check.check(init?.method ?? 'GET', pathname, answer.status, type, body);
    return answer;
  };
}
