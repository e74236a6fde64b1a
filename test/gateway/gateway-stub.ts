import type { HoldfastApi } from '../../src/client/holdfast-api.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import {
  createGateway,
  type Gateway,
  type GatewayAbout,
  type GatewayLogger,
  type GatewayOptions,
  localAccess,
} from '../../src/gateway/index.ts';

export const TOKEN = 'h'.repeat(43);
export const HOST = '127.0.0.1:8471';
export const HEADERS = { authorization: `Bearer ${TOKEN}`, host: HOST };

export const ABOUT: GatewayAbout = {
  v: 1,
  version: '0.1.0',
  namespace: 'default',
  taskQueue: 'holdfast',
  uiUrl: 'http://localhost:8233',
  store: 'embedded',
  apps: ['shop'],
  agents: ['support'],
};

export interface LoggedLine {
  level: string;
  message: string;
  attributes: Record<string, unknown>;
}

export interface StubGateway {
  gateway: Gateway;
  lines: LoggedLine[];
  /** Sends a request in process, with host and token unless it names others. */
  send(path: string, init?: RequestInit & { headers?: Record<string, string> }): Promise<Response>;
}

/** A gateway whose client does what a test says, for what no real one can be brought to do. */
export function stubGateway(
  client: Partial<HoldfastApi> = {},
  options: Partial<GatewayOptions> = {},
): StubGateway {
  const lines: LoggedLine[] = [];
  const gateway = createGateway({
    client: client as HoldfastApi,
    about: () => ABOUT,
    ready: async () => ({ temporal: true, store: true }),
    access: localAccess({ token: TOKEN, hosts: [HOST] }),
    logger: collecting(lines),
    ...options,
  });
  return {
    gateway,
    lines,
    send: async (path, init = {}) =>
      await gateway.request(`http://${HOST}${path}`, { ...init, headers: { ...HEADERS, ...init.headers } }),
  };
}

export function collecting(lines: LoggedLine[]): GatewayLogger {
  const to =
    (level: string) =>
    (message: string, attributes: Record<string, unknown> = {}) =>
      void lines.push({ level, message, attributes });
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
}

export function stubTurn(turn: Partial<TurnHandle>): TurnHandle {
  return {
    workflowId: 'shop/ada/s1',
    runId: 'r1',
    invocationId: 'e-1',
    messageId: 'm1',
    taskQueue: 'holdfast',
    attached: false,
    disposition: 'started',
    ...turn,
  } as TurnHandle;
}

export async function codeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { code: string } };
  return error.code;
}
