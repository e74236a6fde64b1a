import { isRecord } from '../../protocol/json.ts';
import { formatPath } from '../../schema/path.ts';
import { mapSubschemas } from '../../schema/subschemas.ts';

type Schema = Record<string, unknown>;

/** A place of a schema that a provider is known to refuse. */
export interface RefusedSchema {
  /** Empty for the root. */
  path: string;
  problem: string;
}

interface Rules {
  provider: string;
  /** Keywords that may not stand at the root. */
  notAtRoot: readonly string[];
  /** Lists must say what is in them. */
  itemsRequired: boolean;
  propertyName?: RegExp;
}

const OPENAI: Rules = {
  provider: 'OpenAI',
  notAtRoot: ['anyOf', 'oneOf', 'allOf', 'enum', 'not'],
  itemsRequired: true,
};

const ANTHROPIC: Rules = {
  provider: 'Anthropic',
  notAtRoot: ['anyOf', 'oneOf', 'allOf'],
  itemsRequired: false,
  propertyName: /^[a-zA-Z0-9_.-]{1,64}$/,
};

/** Deeper schemas are not looked into: the provider says what it thinks of them. */
const DEEPEST = 64;

/** A model as its package names it. */
export interface ProviderModel {
  /** Such as `anthropic.messages`. */
  provider: string;
  /** Its id at the provider. */
  model: string;
}

/** The first place of a schema that the provider would refuse the whole request for; undefined where nothing is known against it. */
export function refusedBy(site: ProviderModel, schema: unknown): RefusedSchema | undefined {
  const rules = rulesOf(site);
  if (rules === undefined || !isRecord(schema)) return undefined;
  return refusedRoot(rules, schema) ?? refusedWithin(rules, schema, []);
}

function rulesOf(site: ProviderModel): Rules | undefined {
  if (isOpenAi(site.provider)) return OPENAI;
  return isClaude(site) ? ANTHROPIC : undefined;
}

/** Claude of Anthropic itself, and of Bedrock, which hands requests on to it. */
export function isClaude({ provider, model }: ProviderModel): boolean {
  return (
    provider.includes('anthropic') || (/^(amazon-)?bedrock/.test(provider) && model.includes('anthropic'))
  );
}

/** OpenAI itself and Azure's; services that only speak its protocol have rules of their own. */
export function isOpenAi(provider: string): boolean {
  return /^(openai|azure)\./.test(provider);
}

function refusedRoot({ provider, notAtRoot }: Rules, schema: Schema): RefusedSchema | undefined {
  if (schema.type !== 'object') {
    return { path: '', problem: `${provider} takes a schema of type "object" only, at its root` };
  }
  const keyword = notAtRoot.find((each) => schema[each] !== undefined);
  if (keyword === undefined) return undefined;
  return { path: keyword, problem: `${provider} takes no "${keyword}" at the root: put it into a property` };
}

function refusedWithin(
  rules: Rules,
  schema: Schema,
  path: readonly PropertyKey[],
): RefusedSchema | undefined {
  const { provider, itemsRequired, propertyName } = rules;
  if (path.length > DEEPEST) return undefined;
  if (itemsRequired && isList(schema) && schema.items === undefined && schema.prefixItems === undefined) {
    return { path: formatPath(path), problem: `${provider} takes no list without "items"` };
  }
  const names = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
  const wrong = propertyName && names.find((name) => !propertyName.test(name));
  if (wrong !== undefined) {
    const problem = `${provider} takes names of 1 to 64 letters, digits, _, . and - only`;
    return { path: formatPath([...path, 'properties', wrong]), problem };
  }
  let found: RefusedSchema | undefined;
  mapSubschemas(schema, (subschema, at) => {
    if (found === undefined && isRecord(subschema)) found = refusedWithin(rules, subschema, [...path, ...at]);
    return subschema;
  });
  return found;
}

function isList({ type }: Schema): boolean {
  return type === 'array' || (Array.isArray(type) && type.includes('array'));
}

/** Whether OpenAI's strict mode takes a schema: each object lists all its properties as required, and no others. */
export function isStrict(schema: unknown, depth = 0): boolean {
  if (!isRecord(schema) || depth > DEEPEST) return false;
  const { properties, required, additionalProperties } = schema;
  if (schema.type === 'object' || properties !== undefined) {
    const names = isRecord(properties) ? Object.keys(properties) : [];
    const listed = Array.isArray(required) ? required : [];
    if (additionalProperties !== false || !names.every((name) => listed.includes(name))) return false;
  }
  let strict = !['allOf', 'oneOf', 'not', 'if', 'default', 'patternProperties'].some(
    (name) => name in schema,
  );
  mapSubschemas(schema, (subschema) => {
    if (strict && isRecord(subschema)) strict = isStrict(subschema, depth + 1);
    return subschema;
  });
  return strict;
}
