import {
  isNameOfSecret,
  partsOfSecret,
  secretsInHeaders,
  withoutSecretsIn,
  withoutSecretsInBytes,
  withoutSecretsInJson,
} from '../../net/removed-secrets.ts';
import { isRecord, parsedJson } from '../../protocol/json.ts';
import { headersOf, type MCPConnectionParams } from './connection-params.ts';

/** Shorter values are no secrets: `true`, `json`, … */
const SHORTEST_SECRET = 8;

type Headers = Readonly<Record<string, string>>;

/**
 * Values that nobody needs to read in an error: headers, variables and arguments of a program, the query and the password of an address.
 *
 * @param headers of the request, beside those of the params.
 */
export function secretsOf(params: MCPConnectionParams, headers: Headers = {}): string[] {
  const values = valuesOf(params, headers);
  return values
    .flatMap((each) => (each.isRead ? secretsIn(each) : [each.value, ...secretsIn(each)]))
    .filter(isLong);
}

/**
 * Values that nobody needs to read in an answer either: the credential of the call, and what its name calls a secret. The others are what
 * an agent works with: a folder, a region, the address of a site.
 *
 * @param headers of the request, beside those of the params. Those that carry the call's `credential` are among them.
 */
export function secretsOfAnswers(
  params: MCPConnectionParams,
  headers: Headers,
  credential: Headers,
): string[] {
  return [...valuesOf(params, headers).flatMap(secretsIn), ...Object.values(credential)].filter(isLong);
}

/** A value of the connection params. */
interface ParamValue {
  name: string;
  value: string;
  /** It has to be read in errors. */
  isRead?: boolean;
}

function valuesOf(params: MCPConnectionParams, headers: Headers): ParamValue[] {
  if (params.type === 'StdioConnectionParams') {
    const { args = [], env = {} } = params.serverParams;
    return [...pairs(Object.entries(env)), ...args.map(argumentOf)];
  }
  const all = { ...headersOf(params), ...headers };
  return pairs([...Object.entries(all), ...new URL(params.url).searchParams]);
}

function pairs(entries: readonly [string, string][]): ParamValue[] {
  return entries.map(([name, value]) => ({ name, value }));
}

/** Paths, addresses, packages, sentences and files. */
const IS_READ = /^[-@./~]|\s|:\/\/|\.\w{1,4}$/;

/** Options that no value follows. */
const SWITCH = /^--?(?:no|allow|disable|enable|skip|without)-/i;

/** An argument, with the option before it or within it as its name. */
function argumentOf(arg: string, index: number, all: readonly string[]): ParamValue {
  const [, own, value = arg] = /^([\w-]+)=(.*)$/s.exec(arg) ?? [];
  const before = all[index - 1] ?? '';
  const name = own ?? (before.startsWith('-') && !SWITCH.test(before) ? before : '');
  return { name, value, isRead: IS_READ.test(value) && !isNameOfSecret(name) };
}

function isLong({ length }: string): boolean {
  return length >= SHORTEST_SECRET;
}

/** The value itself, if its name is that of a secret, and secrets within the value. */
function secretsIn({ name, value }: ParamValue): string[] {
  return [...secretsInHeaders({ [name]: value }), ...namedWithin(value), ...passwordsIn(value)];
}

/** Secrets that a text names: `Authorization: Bearer …`, `GITHUB_TOKEN=…`, `?password=…`, `{"apiKey":"…"}`. */
function namedWithin(text: string): string[] {
  const json = parsedJson(text);
  const named = typeof json === 'object' && json !== null ? textsIn(json) : assignedIn(text);
  return named.flatMap(([name, value]) =>
    isKeywordOfSecret(name) && !PUBLIC_ADDRESS.test(value) ? partsOfSecret(value) : [],
  );
}

/** Within a value `Pwd` is a password. As the name of a variable it is the folder. */
function isKeywordOfSecret(name: string): boolean {
  return isNameOfSecret(name) || /^pwd$/i.test(name);
}

/** `token_uri` is the place where a token is had. */
const PUBLIC_ADDRESS = /^https?:\/\/[^@?]*$/;

function textsIn(json: object): [name: string, text: string][] {
  const texts: [string, string][] = [];
  const rest = [json];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    for (const [name, member] of Object.entries(next)) {
      if (typeof member === 'string') texts.push([name, member]);
      if (typeof member === 'object' && member !== null) rest.push(member);
    }
  }
  return texts;
}

function assignedIn(text: string): [name: string, text: string][] {
  return [...text.matchAll(/(?<![\w-])([\w-]+)["']?\s*[:=]\s*/g)].flatMap(
    ({ 0: { length }, 1: name = '', index }): [name: string, text: string][] => {
      if (!isKeywordOfSecret(name)) return [];
      const rest = text.slice(index + length);
      const value = VALUE.exec(rest)?.slice(1);
      const [inList = ''] = rest.split(';', 1);
      return [
        [name, value?.find((each) => each !== undefined) ?? ''],
        // In a connection string a value ends at the semicolon, whatever else it has.
        ...(rest.includes(';') ? [[name, inList.trim()] as [string, string]] : []),
      ];
    },
  );
}

/** In quotes, or to the next space or separator. */
const VALUE = /^(?:"([^"]*)"|'([^']*)'|((?:(?:bearer|basic|token)\s+)?[^\s"',;&]+))/i;

/** Passwords of addresses, as they are written there and as a program reads them. An address may name several hosts. */
function passwordsIn(text: string): string[] {
  const written = [...text.matchAll(/:\/\/[^\s/:@]*:([^\s/@]+)@/g)].map(([, password = '']) => password);
  return [...written, URL.parse(text)?.password ?? ''].flatMap((password) => [
    password,
    password.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
      Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
    ),
  ]);
}

/** Secrets to remove from a server's messages. */
interface RemovedFromMessages {
  /** From errors, and from results that are one. */
  fromErrors: () => readonly string[];
  fromAnswers: () => readonly string[];
}

/** A message of a server without secrets. It is changed, but for fields that are sent back. */
export function withoutSecretsInMessage<Message>(
  message: Message,
  { fromErrors, fromAnswers }: RemovedFromMessages,
): Message {
  const { result, error, params } = message as { result?: unknown; error?: unknown; params?: unknown };
  if (isRecord(error)) {
    const { message: words, data } = error;
    const clean = {
      ...(typeof words === 'string' ? { message: withoutSecretsIn(words, fromErrors()) } : {}),
      // A page that a person is to open.
      ...(isRecord(data) ? { data: cleaned(data, fromAnswers()) } : {}),
    };
    return { ...message, error: { ...error, ...clean } };
  }
  if (isRecord(result))
    return { ...message, result: cleaned(result, isFailed(result) ? fromErrors() : fromAnswers()) };
  return isRecord(params) ? { ...message, params: cleaned(params, fromAnswers()) } : message;
}

/** The words of an error may repeat any part of the request. */
function isFailed({ isError, status, result }: Record<string, unknown>): boolean {
  return isError === true || status === 'failed' || (isRecord(result) && result.isError === true);
}

/** Fields that are sent back to the server as they came. {@link tellsSecret} checks a field before it is recorded. */
const GO_BACK = [
  'progressToken',
  'requestId',
  'taskId',
  'requestState',
  'nextCursor',
  'inputRequests',
] as const;

function cleaned(value: Record<string, unknown>, secrets: readonly string[]): Record<string, unknown> {
  if (secrets.length === 0) return value;
  const { inputRequests } = value;
  // Answers are sent back under the keys of their questions.
  if (isRecord(inputRequests))
    for (const [key, question] of Object.entries(inputRequests))
      Object.defineProperty(inputRequests, key, { value: withoutSecretsInJson(question, secrets) });
  const goingBack = [value, value.task]
    .filter(isRecord)
    .flatMap((owner) => GO_BACK.filter((field) => field in owner).map((field): Place => [owner, field]));
  // Base64 has short secrets by chance, and others in a form of its own.
  const base64 = [value, value.result].filter(isRecord).flatMap(bytesIn);
  const put = [
    ...goingBack.map(([owner, field]) => [owner, field, owner[field]] as const),
    ...base64.map(
      ([owner, field]) => [owner, field, withoutSecretsInBase64(String(owner[field]), secrets)] as const,
    ),
  ];
  for (const [owner, field] of put) owner[field] = '';
  withoutSecretsInJson(value, secrets);
  for (const [owner, field, kept] of put) owner[field] = kept;
  return value;
}

/** Whether something has a secret that it can't be recorded with. */
export function tellsSecret(value: unknown, secrets: readonly string[]): boolean {
  const json = JSON.stringify(value);
  return withoutSecretsIn(json, secrets) !== json;
}

type Place = [owner: Record<string, unknown>, field: string];

/** The base64 fields of a result: those of its blocks, and of its resources. */
function bytesIn({ content, contents }: Record<string, unknown>): Place[] {
  const blocks = [content, contents].flatMap((list) => (Array.isArray(list) ? list.filter(isRecord) : []));
  const places = blocks.map((block): Place => {
    const { type, resource } = block;
    if (type === 'image' || type === 'audio') return [block, 'data'];
    return [isRecord(resource) ? resource : block, 'blob'];
  });
  return places.filter(([owner, field]) => typeof owner[field] === 'string');
}

function withoutSecretsInBase64(base64: string, secrets: readonly string[]): string {
  const text = withoutSecretsIn(base64, secrets);
  const bytes = Buffer.from(text, 'base64');
  const clean = withoutSecretsInBytes(bytes, secrets);
  return clean === bytes ? text : clean.toString('base64');
}
