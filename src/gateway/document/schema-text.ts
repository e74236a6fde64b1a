/** Texts of the page for a JSON schema. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  items?: unknown;
  anyOf?: unknown[];
  oneOf?: unknown[];
  allOf?: unknown[];
  properties?: Record<string, unknown>;
  required?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  description?: string;
}

export interface SchemaRow {
  name: string;
  type: string;
  required: boolean;
  description: string;
}

/** One line for a schema: names of others begin with a capital letter. */
export function schemaText(given: unknown): string {
  const schema = schemaOf(given);
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? '';
  const text = typeText(schema);
  return schema.default === undefined ? text : `${text}, by default ${JSON.stringify(schema.default)}`;
}

/** The fields of an object's schema. */
export function schemaRows(given: unknown): SchemaRow[] {
  const { properties = {}, required = [] } = schemaOf(given);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    type: schemaText(schema),
    required: required.includes(name),
    description: schemaOf(schema).description ?? '',
  }));
}

function typeText(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return options.map(schemaText).join(' | ');
  if (schema.allOf !== undefined) return schema.allOf.map(schemaText).filter(Boolean).join(' & ');
  if (schema.items !== undefined) return `list of ${schemaText(schema.items)}`;
  return [schema.type ?? (schema.description === undefined ? '' : 'any')].flat().join(' | ');
}

function schemaOf(given: unknown): Schema {
  return typeof given === 'object' && given !== null ? given : {};
}
