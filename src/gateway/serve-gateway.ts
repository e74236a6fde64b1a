import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { outliveErrors } from '../net/outlive-errors.ts';
import { createGateway, type Gateway } from './create-gateway.ts';
import { errorAnswer } from './error-answer.ts';
import { GatewayNotLocal, RequestRefused } from './gateway-errors.ts';
import type { GatewayOptions } from './gateway-options.ts';

export interface ServeOptions {
  /** A gateway of {@link createGateway}, or its options. */
  gateway: Gateway | GatewayOptions;
  /**
   * Name or address to listen on: 127.0.0.1, localhost or ::1 unless the gateway's access is one for the network.
   *
   * @default '127.0.0.1'
   */
  host?: string;
  /**
   * 0 is a free one.
   *
   * @default 0
   */
  port?: number;
  /**
   * Milliseconds after which a connection is cut on which nothing moves: a follower that has stopped reading. Longer than
   * `keepAlive` and than a poll may wait.
   *
   * @default 120_000
   */
  idleTimeout?: number;
}

export interface ServedGateway {
  /** Without a slash at its end. */
  url: string;
  port: number;
  /**
   * Ends streams and polls, waits two seconds for what else is being answered, and frees the port; then ten seconds at most for what was
   * answered and is still being done.
   */
  close(): Promise<void>;
}

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '::1']);

/** How long answers may take once the gateway closes, milliseconds. */
const CLOSING = 2_000;

/** Names travel in paths, URI-encoded, which may be long. */
const MOST_HEADER_BYTES = 64 * 1024;

/**
 * Serves a gateway.
 *
 * @throws GatewayNotLocal for a host that other machines reach, where the gateway's access is a local one.
 * @example
 * const { url, close } = await serveGateway({ gateway: { client, about, ready, access, logger }, port: 8471 });
 */
export async function serveGateway(options: ServeOptions): Promise<ServedGateway> {
  const { host = '127.0.0.1', port = 0, idleTimeout = 120_000 } = options;
  const gateway = 'fetch' in options.gateway ? options.gateway : createGateway(options.gateway);
  if (gateway.reach === 'loopback' && !LOOPBACK.has(host)) throw new GatewayNotLocal(host);
  const limits = {
    maxHeaderSize: MOST_HEADER_BYTES,
    headersTimeout: 15_000,
    requestTimeout: 60_000,
    keepAliveTimeout: 65_000,
  };
  const server = createServer(limits, requestListener(gateway));
  server.setTimeout(idleTimeout);
  const address = await listen(server, host, port);
  if (gateway.reach === 'loopback' && !isLoopback(address)) {
    // A name may lead elsewhere than its word says.
    server.close();
    throw new GatewayNotLocal(`${host} (${address.address})`);
  }
  const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  let closed: Promise<void> | undefined;
  return {
    url: `http://${shown}:${address.port}`,
    port: address.port,
    close: () => {
      closed ??= close(server, gateway);
      return closed;
    },
  };
}

/** Handlers for a server of one's own. */
export function requestListener(gateway: Gateway): RequestListener {
  return getRequestListener((request, env) => gateway.fetch(request, env), {
    overrideGlobalObjects: false,
    errorHandler: answerUnreadable,
  });
}

/** Of a target, or a Host, that makes no URL: no request comes of it that the gateway could be given. */
function answerUnreadable(error: unknown): Response {
  const isTarget = error instanceof RequestError;
  const { status, body } = errorAnswer(
    isTarget
      ? new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', 'target: it makes no URL with the Host header')
      : error,
  );
  return Response.json(body, { status, headers: { 'cache-control': 'no-store' } });
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      outliveErrors(server, 'the gateway');
      resolve(server.address() as AddressInfo);
    });
  });
}

function isLoopback({ address }: AddressInfo): boolean {
  return address === '::1' || address.startsWith('127.');
}

async function close(server: Server, gateway: Gateway): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  gateway.endStreams();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSING);
  // An answer that ends now leaves its connection open for another request.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  await ended;
  clearTimeout(timer);
  clearInterval(idle);
  await gateway.flush();
}
