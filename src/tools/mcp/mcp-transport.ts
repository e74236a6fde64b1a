import type { Transport } from '@modelcontextprotocol/client';
import { boundedResponse } from '../../net/bounded-response.ts';
import { patientFetch } from '../../net/patient-fetch.ts';
import { defined } from '../../protocol/json.ts';
import { headersOf, mergedHeaders, type OpenMcpConnection } from './connection-params.ts';
import { PASSING, STREAM_ENDED } from './mcp-errors.ts';

/** Characters of a program's standard error that are kept: far more than an error tells, so that no secret there is cut. */
const MOST_KEPT = 65_536;

export interface OpenTransport {
  transport: Transport;
  /** The end of the standard error of a program, with the secrets that it tells. */
  said: () => string;
}

/** The way to a server: a program's pipes, or requests to an address. */
export async function transportOf({
  params,
  headers,
  maxResponseBytes,
  session,
}: OpenMcpConnection): Promise<OpenTransport> {
  if (params.type === 'StdioConnectionParams') {
    const { StdioClientTransport, getDefaultEnvironment } = await import(
      '@modelcontextprotocol/client/stdio'
    );
    const { command, args = [], env = {}, cwd, maxBufferSize } = params.serverParams;
    const transport = new StdioClientTransport({
      ...{ command, args, env: { ...getDefaultEnvironment(), ...env } },
      stderr: 'pipe',
      ...defined({ cwd, maxBufferSize }),
    });
    let tail = '';
    transport.stderr?.on('error', () => undefined);
    // Read to its end: a program whose pipe is full stands still.
    transport.stderr?.on('data', (chunk: Buffer) => {
      tail = `${tail}${chunk.toString()}`.slice(-MOST_KEPT);
    });
    return { transport, said: () => tail.trim() };
  }
  const { StreamableHTTPClientTransport, extractWWWAuthenticateParams } = await loadMcpClient();
  const fixed = headersOf(params);
  const transport = new StreamableHTTPClientTransport(new URL(params.url), {
    ...(session === undefined
      ? {}
      : defined({ sessionId: session.id, protocolVersion: session.protocolVersion })),
    reconnectionScheduler: reopenLater,
    fetch: async (url, init) => {
      const own = Object.fromEntries(new Headers(init?.headers));
      const response = await patientFetch(url, { ...init, headers: mergedHeaders(fixed, headers(), own) });
      // The package would take it for the answer of a server that knows no revision of 2026.
      if (transport.protocolVersion === undefined && PASSING.has(response.status)) {
        await response.body?.cancel();
        throw new Error(`the server answered ${response.status}`);
      }
      const answer = boundedResponse(
        response,
        maxResponseBytes,
        () => new Error(`the server's answer has more than ${maxResponseBytes} bytes`),
      );
      const { status, statusText } = answer;
      const { resourceMetadataUrl, scope = '', error } = extractWWWAuthenticateParams(answer);
      if (status !== 401 && !(status === 403 && error === 'insufficient_scope')) return answer;
      const scopes = scope.split(' ').filter((each) => SCOPE.test(each));
      const challenge = { status, scopes, ...defined({ metadata: resourceMetadataUrl?.href }) };
      // By this name the package hands it on as it is.
      const named = { name: 'UnauthorizedError', status, challenge };
      throw Object.assign(new Error((await answer.text()) || statusText), named);
    },
  });
  const send = transport.send.bind(transport);
  // The package lets a request whose stream has ended wait for an answer until its time is over.
  transport.send = (message, options) => {
    const id = 'method' in message && 'id' in message ? message.id : undefined;
    if (id === undefined) return send(message, options);
    const onRequestStreamEnd = () =>
      transport.onmessage?.({ jsonrpc: '2.0', id, error: { ...STREAM_ENDED } });
    return send(message, { onRequestStreamEnd, ...options });
  };
  return { transport, said: () => '' };
}

/** A scope of RFC 6749. */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]{1,200}$/;

/** Milliseconds before a stream that has ended is opened again. */
const REOPEN_AFTER = { least: 500, most: 60_000 };

/** A server may say `retry: 0`, or a time that no timer has: its streams are opened again at a pace that harms nobody. */
function reopenLater(reopen: () => void, delay: number): () => void {
  const { least, most } = REOPEN_AFTER;
  const timer = setTimeout(reopen, Math.min(Math.max(delay, least), most)).unref();
  return () => clearTimeout(timer);
}

/** Whether the server keeps a session of this transport. */
export function isSession(
  transport: Transport,
): transport is Transport & { protocolVersion?: string; terminateSession(): Promise<void> } {
  return 'terminateSession' in transport && transport.sessionId !== undefined;
}

/** The package that speaks to servers, which takes a moment to load. */
export async function loadMcpClient(): Promise<typeof import('@modelcontextprotocol/client')> {
  return await import('@modelcontextprotocol/client');
}
