import { pathToFileURL } from 'node:url';
import type { AuthCredential } from '../../events/auth-credential.ts';
import type { SecuritySchemeObject } from '../../events/auth-scheme.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { assertKnownFields } from '../../schema/known-fields.ts';
import * as option from '../../schema/option-kinds.ts';
import { type OptionReader, type OptionsFor, type Resolved, readGroup } from '../../schema/options.ts';
import type { ApprovalOptions } from '../approval-options.ts';
import type { ToolPredicate } from '../base-toolset.ts';
import type { GateOptions } from '../gate-options.ts';
import { isSchemeCredential, type SchemeCredential } from './api-security.ts';
import type { ExternalPlace, ExternalReferences } from './external-documents.ts';
import type { DocumentSource } from './load-document.ts';
import { type HeaderProvider, hosts, REST_TOOL_FIELDS, type RestApiToolOptions } from './rest-api-tool.ts';
import { assertOwnSecurity } from './security-checks.ts';

/** An operation as filters and options see it. */
export interface OperationView {
  /** Name of its tool. */
  name: string;
  /** In lower case. */
  method: string;
  path: string;
  operationId?: string;
  tags: readonly string[];
}

/** Operations that match each field that is given, and of that any entry. */
export interface OperationFilter {
  /** Tags of the document. */
  tags?: readonly string[];
  /** Paths of the document. One with `*` at its end stands for all that begin like it: `/pets/*`. */
  paths?: readonly string[];
  /** Ids of operations, or names of their tools. */
  operations?: readonly string[];
  /** Methods of HTTP, in lower or upper case. */
  methods?: readonly string[];
}

const texts = option.custom((list, read, name): readonly string[] => {
  const isFine = Array.isArray(list) && list.every((each) => typeof each === 'string' && each !== '');
  return isFine ? list : read.fail(name, 'expected a list of texts');
});

const OPERATION_FILTER = {
  tags: texts,
  paths: texts,
  operations: texts,
  methods: texts,
} satisfies OptionsFor<OperationFilter>;

/** Options of {@link OpenAPIToolset}: those of ADK first. One of `specDict`, `specStr` and `specUrl` is required. */
export interface OpenAPIToolsetOptions {
  /** The document itself. It is not changed, and must not be. */
  specDict?: object;
  /** The document as JSON or YAML. */
  specStr?: string;
  /** Format of `specStr`. @default told from the text */
  specType?: 'json' | 'yaml';
  /** The document's address: `https:`, `file:`, or a path. */
  specUrl?: string | URL;
  /**
   * Other documents to which references of this one may lead: at most 100, 64 MiB and a minute for all of them. Those of servers are asked
   * as the document is, and redirected to no other host.
   *
   * @default none: an operation that needs such a reference is an error
   */
  externalRefs?: ExternalReferences;
  /** A predicate, or the names of the tools to offer; an empty list offers all. */
  toolFilter?: ToolPredicate | string[];
  /** Stands before the name of each tool, with `_` between. */
  prefix?: string;
  /** Keeps names of arguments as the document has them. @default false */
  preservePropertyNames?: boolean;
  /** A security scheme in place of the security of all operations. */
  authScheme?: SecuritySchemeObject;
  /** The credential of `authScheme`, or of the document's one scheme. */
  authCredential?: AuthCredential;
  /** Beginning of the names under which credentials of people are kept. @default the document's title and server */
  credentialKey?: string;
  /** Headers that are sent with each request. */
  headerProvider?: HeaderProvider;
  /** For messages. @default 'OpenAPIToolset' */
  name?: string;
  /**
   * Whether the agent goes on without these tools while the document can't be loaded. It is logged once, and tried again.
   *
   * @default false: the turn waits, and fails in the end
   */
  optional?: boolean;
  /** The operations that become tools. @default all */
  include?: OperationFilter;
  /** Operations that become none. @default none */
  exclude?: OperationFilter;
  /** More operations than this are an error: each request to a model has all of them. @default 128 */
  maxOperations?: number;
  /** Secrets by name of the security scheme. They go to the operation's server only; those of a client of OAuth to its token endpoint. */
  credentials?: Readonly<Record<string, SchemeCredential>>;
  /** Whether people are asked for credentials that are missing. @default true */
  askForCredentials?: boolean;
  /**
   * The server of all operations: an address, the name or description of one of the document's, or its index.
   *
   * @default the first one of the operation, its path or the document; over TLS where the document has it with TLS, too
   */
  server?: string | number;
  /** Values of variables in the server's address, by name. @default those of the document */
  serverVariables?: Readonly<Record<string, string>>;
  /** Calls that wait for a person's approval: `'writes'` are those whose method is not safe. @default false */
  requireConfirmation?: 'writes' | GateOptions['requireConfirmation'];
  /** The people who may decide about the calls of `requireConfirmation`, and the rules of their decision. */
  approval?: ApprovalOptions;
  /**
   * Hosts that may be asked without TLS and in a private network: `name` at the usual ports, or `name:port`. Counts for the document, too.
   *
   * @default none
   */
  allow?: readonly string[];
  /** Options of all tools. */
  toolOptions?: RestApiToolOptions;
  /** Options of single tools, by operation id or name of the tool, or a function of the operation. */
  options?:
    | Readonly<Record<string, RestApiToolOptions>>
    | ((operation: OperationView) => RestApiToolOptions | undefined);
}

const filter = option.custom(
  (options, { owner }, field): OperationFilter => readGroup(OPERATION_FILTER, { owner, options, field }),
);

const TOOLSET = {
  specDict: option.unchecked(),
  specStr: option.text(),
  specType: option.choice(['json', 'yaml']),
  specUrl: option.unchecked(),
  externalRefs: option.unchecked(),
  toolFilter: option.unchecked(),
  prefix: option.unchecked(),
  preservePropertyNames: option.flag(),
  authScheme: option.unchecked(),
  authCredential: option.unchecked(),
  credentialKey: option.text(),
  headerProvider: option.callback('a function of the context'),
  name: option.text(),
  optional: option.flag(),
  include: filter,
  exclude: filter,
  maxOperations: option.count(),
  credentials: records(
    isSchemeCredential,
    "a credential, its text, { env: 'NAME' } or a function of the context",
  ),
  askForCredentials: option.flag(),
  server: option.own(
    (value) => typeof value === 'string' || Number.isSafeInteger(value),
    'an address, a name or an index',
  ),
  serverVariables: records((value) => typeof value === 'string', 'a text'),
  requireConfirmation: option.own(
    (value) => value === 'writes' || typeof value === 'boolean' || typeof value === 'function',
    "'writes', true, false or a function of the arguments",
  ),
  approval: option.unchecked(),
  allow: hosts,
  toolOptions: option.custom(assertToolOptions),
  options: option.custom((value, read, name) => {
    if (typeof value === 'function') return;
    if (!isRecord(value)) read.fail(name, `expected an object or a function, got ${kindOf(value)}`);
    for (const [tool, own] of Object.entries(value as object))
      assertToolOptions(own, read, `${name}.${tool}`);
  }),
} satisfies OptionsFor<OpenAPIToolsetOptions>;

type Toolset = Resolved<typeof TOOLSET>;

/** @throws DefinitionError naming the option. @returns the place of the document. */
export function checkedToolsetOptions(owner: string, options: unknown): DocumentSource {
  return readGroup(TOOLSET, { owner, options }, (toolset, read) => {
    assertOwnSecurity(read, toolset);
    if (toolset.approval !== undefined && (toolset.requireConfirmation ?? false) === false) {
      read.fail('approval', "nobody is asked: set requireConfirmation, for example to 'writes'");
    }
    assertOwnEndpoints(read, toolset);
    const external = externalOf(read, toolset);
    return { ...placeOf(read, toolset), ...defined({ external }) };
  });
}

/** A client's secret goes to the endpoints of its scheme, which a document of somebody else must not name. */
function assertOwnEndpoints(read: OptionReader, { server, specUrl, authScheme, ...toolset }: Toolset): void {
  if (server === undefined && !/^https?:/i.test(String(specUrl))) return;
  const { credentials = {}, authCredential } = toolset as OpenAPIToolsetOptions;
  const given: [string, unknown][] = Object.entries(credentials).map(([name, each]) => [
    `credentials.${name}`,
    each,
  ]);
  if (authScheme === undefined) given.push(['authCredential', authCredential]);
  for (const [field, credential] of given) {
    if (typeof Object(credential).oauth2?.clientId !== 'string') continue;
    const remedy = 'describe the server in durable.oauth of the app, and give { provider }';
    read.fail(field, `the document would name the server that gets its secret: ${remedy}`);
  }
}

function assertToolOptions(options: unknown, { owner }: OptionReader, field: string): void {
  assertKnownFields(owner, options, REST_TOOL_FIELDS, { field });
}

function externalOf(
  read: OptionReader,
  { externalRefs, specUrl, allow }: Toolset,
): ExternalPlace | undefined {
  if (externalRefs === undefined) return undefined;
  assertKnownFields(read.owner, externalRefs, ['allow'], { field: 'externalRefs' });
  const field = 'externalRefs.allow';
  const given: unknown = externalRefs.allow;
  if (!Array.isArray(given) || given.length === 0)
    return read.fail(field, "expected a list of addresses, for example ['./']");
  const address = specUrl === undefined ? undefined : String(specUrl);
  const isAddress = address !== undefined && /^(?:https?|file):/i.test(address);
  const base = isAddress || address === undefined ? address : pathToFileURL(address).href;
  for (const [index, entry] of given.entries()) {
    const isRelative = typeof entry === 'string' && entry.startsWith('./');
    if (isRelative && base === undefined)
      read.fail(`${field}[${index}]`, 'a document without an address has no folder: give it as specUrl');
    if (!isRelative && !/^https?:\/\/[^/]/i.test(String(entry)))
      read.fail(`${field}[${index}]`, "expected an address, or './' for the folder of the document");
  }
  return { allow: [...given], hosts: allow, ...defined({ base: base && URL.parse(base)?.href }) };
}

function placeOf(read: OptionReader, toolset: Toolset): DocumentSource {
  const { specDict, specStr, specUrl, specType: type, allow } = toolset;
  const count = [specDict, specStr, specUrl].filter((each) => each !== undefined).length;
  if (count !== 1) {
    throw new DefinitionError({ owner: read.owner, problem: 'give one of specDict, specStr and specUrl' });
  }
  if (specDict !== undefined) {
    if (!isRecord(specDict)) read.fail('specDict', `expected an object, got ${kindOf(specDict)}`);
    return { document: specDict };
  }
  if (specStr !== undefined) return { text: specStr, ...defined({ type }) };
  if (typeof specUrl === 'string' && specUrl !== '') return { url: specUrl, allow };
  if (specUrl instanceof URL) return { url: specUrl, allow };
  return read.fail('specUrl', `expected an address or a path, got ${kindOf(specUrl)}`);
}

/** Values by names that the definer chooses. */
function records(isFine: (value: unknown) => boolean, wanted: string) {
  return option.custom((value, read, name) => {
    if (!isRecord(value)) return read.fail(name, `expected an object, got ${kindOf(value)}`);
    for (const [key, each] of Object.entries(value)) {
      if (isFine(each)) continue;
      read.fail(`${name}.${key}`, `expected ${wanted}, got ${each === '' ? "''" : kindOf(each)}`);
    }
    return value;
  });
}

/** Whether a filter matches an operation. */
export function isChosen(
  { name, method, path, operationId, tags }: OperationView,
  { tags: someTags, paths, operations, methods }: OperationFilter,
): boolean {
  if (someTags !== undefined && !someTags.some((tag) => tags.includes(tag))) return false;
  if (methods !== undefined && !methods.some((each) => each.toLowerCase() === method)) return false;
  if (operations !== undefined && !operations.some((each) => each === name || each === operationId))
    return false;
  return paths === undefined || paths.some((each) => isPathOf(each, path));
}

function isPathOf(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
