import {
  isNameOfSecret,
  secretsIn,
  withoutSecretsIn,
  withoutSecretsInBytes,
  withoutSecretsInJson,
} from '../../net/removed-secrets.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { headersOf, type MCPConnectionParams } from './connection-params.ts';

/** Shorter values of variables and arguments are no secrets: `true`, `json`, … */
const SHORTEST_SECRET = 8;

type Headers = Readonly<Record<string, string>>;

/**
 * Values that nobody needs to read in an error: headers, variables and arguments of a program, the query and the password of an address.
 *
 * @param headers of the request, beside those of the params.
 */
export function secretsOf(params: MCPConnectionParams, headers: Headers = {}): string[] {
  if (params.type === 'StdioConnectionParams') {
    const { args = [], env = {} } = params.serverParams;
    const variables = Object.values(env).flatMap((value) => [value, ...passwordsIn(value)]);
    const ofArguments = args.flatMap((arg, index) => {
      const { isNamed, value } = argumentOf(arg, index, args);
      return isNamed || !IS_READ.test(value) ? [value] : passwordsIn(value);
    });
    return [...variables, ...ofArguments].filter(isLong);
  }
  const all = { ...headersOf(params), ...headers };
  const others = [...Object.values(all), ...new URL(params.url).searchParams.values()];
  return [...secretsIn(all), ...others.filter(isLong)];
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
  if (params.type === 'StdioConnectionParams') {
    const { args = [], env = {} } = params.serverParams;
    const variables = Object.entries(env).flatMap(([name, value]) => secretIn(value, isNameOfSecret(name)));
    const ofArguments = args.flatMap((arg, index) => {
      const { isNamed, value } = argumentOf(arg, index, args);
      return secretIn(value, isNamed);
    });
    return [...variables, ...ofArguments].filter(isLong);
  }
  const ofQuery = [...new URL(params.url).searchParams].flatMap(([name, value]) =>
    isNameOfSecret(name) ? [value] : [],
  );
  return [
    ...secretsIn({ ...headersOf(params), ...headers }),
    ...[...ofQuery, ...Object.values(credential)].filter(isLong),
  ];
}

function isLong({ length }: string): boolean {
  return length >= SHORTEST_SECRET;
}

function secretIn(value: string, isNamed: boolean): string[] {
  return isNamed ? [value, ...passwordsIn(value)] : passwordsIn(value);
}

/** An argument's value, and whether its name, which may be the argument before, calls it a secret. */
function argumentOf(arg: string, index: number, all: readonly string[]): { isNamed: boolean; value: string } {
  const [, name = all[index - 1] ?? '', value = arg] = /^([\w-]+)=(.*)$/s.exec(arg) ?? [];
  return { isNamed: (name.startsWith('-') || value !== arg) && isNameOfSecret(name), value };
}

/** Paths, addresses, packages and files have to be read in errors. */
const IS_READ = /^[-@./~]|\s|:\/\/|\.\w{1,4}$/;

/** The password of an address, as it is written there and as a program reads it. */
function passwordsIn(address: string): string[] {
  const password = URL.parse(address)?.password ?? '';
  const read = password.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
  );
  return [password, read];
}

/** Secrets to remove from a server's messages. */
interface RemovedFromMessages {
  /** From errors, and from results that are one. */
  fromErrors: () => readonly string[];
  fromAnswers: () => readonly string[];
}

/** A message of a server without secrets. It is changed; ids, by which it finds its request, are not. */
export function withoutSecretsInMessage<Message>(
  message: Message,
  { fromErrors, fromAnswers }: RemovedFromMessages,
): Message {
  const { result, error, params } = message as { result?: unknown; error?: unknown; params?: unknown };
  if (isRecord(error)) return { ...message, error: cleaned(error, fromErrors()) };
  if (isRecord(result))
    return { ...message, result: cleaned(result, isFailed(result) ? fromErrors() : fromAnswers()) };
  if (!isRecord(params)) return message;
  const { progressToken, requestId } = params;
  return {
    ...message,
    params: { ...cleaned(params, fromAnswers()), ...defined({ progressToken, requestId }) },
  };
}

/** The words of an error may repeat any part of the request. */
function isFailed({ isError, status, result }: Record<string, unknown>): boolean {
  return isError === true || status === 'failed' || (isRecord(result) && result.isError === true);
}

function cleaned(value: Record<string, unknown>, secrets: readonly string[]): Record<string, unknown> {
  if (secrets.length === 0) return value;
  // Base64 has short secrets by chance, and others in a form of its own.
  const bytes = bytesIn(value).map(([owner, field]) => {
    const base64 = String(owner[field]);
    owner[field] = '';
    return { owner, field, base64 };
  });
  withoutSecretsInJson(value, secrets);
  for (const { owner, field, base64 } of bytes) owner[field] = withoutSecretsInBase64(base64, secrets);
  return value;
}

type Place = [owner: Record<string, unknown>, field: string];

/** The base64 fields of a result: those of its blocks, of its resources, and of a task's result. */
function bytesIn({ content, contents, result }: Record<string, unknown>): Place[] {
  const blocks = [content, contents].flatMap((list) => (Array.isArray(list) ? list.filter(isRecord) : []));
  const places = blocks.flatMap((block): Place[] => {
    const { type, resource } = block;
    if (type === 'image' || type === 'audio') return [[block, 'data']];
    return [[isRecord(resource) ? resource : block, 'blob']];
  });
  const own = places.filter(([owner, field]) => typeof owner[field] === 'string');
  return isRecord(result) ? [...own, ...bytesIn(result)] : own;
}

function withoutSecretsInBase64(base64: string, secrets: readonly string[]): string {
  const text = withoutSecretsIn(base64, secrets.filter(isLong));
  const bytes = Buffer.from(text, 'base64');
  const clean = withoutSecretsInBytes(bytes, secrets);
  return clean === bytes ? text : clean.toString('base64');
}
