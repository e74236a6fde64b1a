import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { setVariables } from '../../environment.ts';
import type { AuthCredential } from '../../events/auth-credential.ts';
import { isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { assertKnownFields } from '../../schema/known-fields.ts';
import * as option from '../../schema/option-kinds.ts';
import { OptionReader, type OptionsFor, readGroup } from '../../schema/options.ts';
import type { McpSession } from './mcp-answer.ts';

/** A server that is a process of this machine, told by its standard input and output. Fields: those of `@google/adk` 2.0.0. */
export interface StdioConnectionParams {
  /** Says that the server is a program. */
  type: 'StdioConnectionParams';
  /** The program, and how it is started. */
  serverParams: StdioServerParameters;
  /**
   * Milliseconds to start and to answer a list.
   *
   * @default 30_000
   */
  timeout?: number;
}

/** A program that serves MCP. Fields: `StdioServerParameters` of `@modelcontextprotocol/client` 2. */
export interface StdioServerParameters {
  /** The program. */
  command: string;
  /** Its arguments. */
  args?: string[];
  /** Variables of its environment, beside the harmless ones of the worker's (`PATH`, `HOME`, …). No others are passed on. */
  env?: Record<string, string>;
  /** Its working folder. Defaults to the worker's. */
  cwd?: string;
  /**
   * Longest message that it may send, in bytes.
   *
   * @default 10 MiB
   */
  maxBufferSize?: number;
}

/** A server that is reached by Streamable HTTP. Fields: those of `@google/adk` 2.0.0. */
export interface StreamableHTTPConnectionParams {
  /** Says that the server is at an address. */
  type: 'StreamableHTTPConnectionParams';
  /** Address of the server, of `https:` or `http:`. */
  url: string;
  /** Headers of each request, as older programs of ADK give them. They hold texts. */
  header?: Record<string, unknown>;
  /**
   * Milliseconds to connect and to answer a list.
   *
   * @default 30_000
   */
  timeout?: number;
  /** Taken and never read: a call may be silent for as long as the tool's `timeout` says. */
  sseReadTimeout?: number;
  /**
   * Whether a session of the server is ended when its connection is closed.
   *
   * @default true
   */
  terminateOnClose?: boolean;
  /** Headers of each request, as newer programs of ADK give them. Headers that change come by the option `headers`. */
  transportOptions?: { requestInit?: { headers?: Record<string, string> } };
}

/** How a server is reached. Semantics: `MCPConnectionParams` of `@google/adk` 2.0.0. */
export type MCPConnectionParams = StdioConnectionParams | StreamableHTTPConnectionParams;

const DEFAULT_TIMEOUT = 30_000;

/** @returns a copy. @throws DefinitionError naming the field. */
export function checkedConnectionParams(owner: string, params: MCPConnectionParams): MCPConnectionParams {
  if (!isRecord(params)) {
    const problem = `expected StdioConnectionParams or StreamableHTTPConnectionParams, got ${kindOf(params)}`;
    throw new DefinitionError({ owner, field: 'connectionParams', problem });
  }
  const field = 'connectionParams';
  if (params.type === 'StdioConnectionParams') readGroup(STDIO, { owner, options: params, field });
  else if (params.type === 'StreamableHTTPConnectionParams')
    readGroup(HTTP, { owner, options: params, field });
  else {
    const got = JSON.stringify((params as { type?: unknown }).type) ?? 'nothing';
    const problem = `expected 'StdioConnectionParams' or 'StreamableHTTPConnectionParams', got ${got}`;
    throw new DefinitionError({ owner, field: `${field}.type`, problem });
  }
  return structuredClone(params);
}

const PROCESS = {
  command: (read, name) => {
    const command = read.value(name);
    if (typeof command === 'string' && command !== '') return command;
    return read.fail(name, `expected the name of a program, got ${kindOf(command)}`);
  },
  args: option.own(
    (args) => Array.isArray(args) && args.every((arg) => typeof arg === 'string'),
    'a list of texts',
  ),
  env: option.custom(checkTexts),
  cwd: option.own((cwd) => typeof cwd === 'string', 'a folder'),
  maxBufferSize: option.count(),
} satisfies OptionsFor<StdioServerParameters>;

export const STDIO = {
  type: option.unchecked(),
  serverParams: option.group((owner, field, options) => readGroup(PROCESS, { owner, options, field })),
  timeout: option.count(DEFAULT_TIMEOUT),
} satisfies OptionsFor<StdioConnectionParams>;

export const HTTP = {
  type: option.unchecked(),
  url: checkUrl,
  header: option.custom(checkTexts),
  timeout: option.count(DEFAULT_TIMEOUT),
  sseReadTimeout: option.unchecked(),
  terminateOnClose: option.flag(),
  transportOptions: option.custom(checkTransport),
} satisfies OptionsFor<StreamableHTTPConnectionParams>;

/** @throws DefinitionError for a program that can't be started here, told before a turn needs it. */
export function assertStartable(owner: string, params: MCPConnectionParams): void {
  // Windows finds programs by rules of its own.
  if (params.type !== 'StdioConnectionParams' || process.platform === 'win32') return;
  const { command, cwd = '', env = {} } = params.serverParams;
  const read = new OptionReader(owner, params, 'connectionParams');
  if (!existsSync(resolve(cwd))) read.fail('serverParams.cwd', `there is no folder ${JSON.stringify(cwd)}`);
  const { PATH = '' } = { ...setVariables(), ...env };
  const folders = command.includes('/') ? [''] : PATH.split(delimiter);
  if (folders.some((folder) => existsSync(resolve(cwd, folder, command)))) return;
  const remedy = 'install it, or name it by its path; its arguments belong into args';
  read.fail('serverParams.command', `there is no program ${JSON.stringify(command)} here: ${remedy}`);
}

/** ADK passes them on to its own transport: what has no effect here is told. */
function checkTransport(options: unknown, read: OptionReader, name: string): void {
  const { owner } = read;
  const field = read.place(name);
  assertKnownFields(owner, options, ['requestInit'], { field });
  const { requestInit = {} } = options;
  assertKnownFields(owner, requestInit, ['headers'], { field: `${field}.requestInit` });
  const { headers = {} } = requestInit;
  checkTexts(headers, read, `${name}.requestInit.headers`);
}

function checkTexts(values: unknown, read: OptionReader, field: string): void {
  if (!isRecord(values)) read.fail(field, `expected an object of texts, got ${kindOf(values)}`);
  for (const [name, value] of Object.entries(values as object)) {
    if (typeof value !== 'string') read.fail(`${field}.${name}`, `expected text, got ${kindOf(value)}`);
  }
}

function checkUrl(read: OptionReader, name: string): void {
  const given = read.value(name);
  const url = typeof given === 'string' ? URL.parse(given) : null;
  if (url !== null && (url.username !== '' || url.password !== ''))
    read.fail(name, 'it has a name or a password: give them as a header or by the option headers');
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return;
  // The text may hold a password.
  read.fail(name, `expected an address of http or https, got ${url === null ? kindOf(given) : url.protocol}`);
}

/** Milliseconds to connect, and to answer a list. */
export function timeoutOf({ timeout = DEFAULT_TIMEOUT }: MCPConnectionParams): number {
  return timeout;
}

/** Headers that a server gets with each request. */
export function headersOf(params: StreamableHTTPConnectionParams): Record<string, string> {
  const { header = {}, transportOptions } = params;
  return mergedHeaders(header as Record<string, string>, transportOptions?.requestInit?.headers);
}

/** Headers by their names in small letters: the last value of a name counts, however it is written. */
export function mergedHeaders(
  ...all: (Readonly<Record<string, string>> | undefined)[]
): Record<string, string> {
  const named = all.flatMap((headers) => Object.entries(headers ?? {}));
  return Object.fromEntries(named.map(([name, value]) => [name.toLowerCase(), value]));
}

/** Headers that carry a credential: a token, name and password, or an API key under the name that its scheme says. */
export function headersOfCredential(
  { apiKey, http, oauth2 }: Partial<AuthCredential>,
  authScheme: object,
): Record<string, string> {
  if (oauth2?.accessToken !== undefined) return { authorization: `Bearer ${oauth2.accessToken}` };
  if (apiKey !== undefined) {
    const { name, in: place } = authScheme as { name?: unknown; in?: unknown };
    const isHeader = typeof name === 'string' && (place === undefined || place === 'header');
    return isHeader ? { [name]: apiKey } : { authorization: `Bearer ${apiKey}` };
  }
  if (http === undefined) return {};
  const { token, username = '', password = '' } = http.credentials;
  const isBasic = http.scheme.toLowerCase() === 'basic';
  const value = isBasic ? Buffer.from(`${username}:${password}`).toString('base64') : token;
  return {
    ...http.additionalHeaders,
    ...(value === undefined ? {} : { authorization: `${isBasic ? 'Basic' : 'Bearer'} ${value}` }),
  };
}

/** The server's name in messages: no secret of its address or its arguments. */
export function shownServer(params: MCPConnectionParams): string {
  if (params.type === 'StdioConnectionParams') return params.serverParams.command;
  const { origin, pathname } = new URL(params.url);
  return `${origin}${pathname}`;
}

/** Options of a connection. */
export interface OpenMcpConnection {
  params: MCPConnectionParams;
  /** Bytes of one answer over HTTP, at most. */
  maxResponseBytes: number;
  /** Headers of the next request, beside those of the params. */
  headers: () => Readonly<Record<string, string>>;
  /** What no answer may tell, of the work that asks; of all work on the connection for what the server says by itself. */
  secrets: () => readonly string[];
  /** The server is known for a revision of 2025: it isn't asked for newer ones, which would start a program twice. */
  isLegacy: boolean;
  /** A session of a server of 2025 that goes on. */
  session?: McpSession | undefined;
  /** Ends an opening. */
  signal: AbortSignal;
  /** Hears that the connection is over, by either side. */
  onClosed: () => void;
}
