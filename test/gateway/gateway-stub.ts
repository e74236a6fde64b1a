import { Artifacts } from '../../src/client/artifacts/artifacts.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import { HoldfastApi } from '../../src/client/holdfast-api.ts';
import { Sessions } from '../../src/client/sessions/sessions.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import { type Call, type Caller, OPERATOR, type Operation } from '../../src/contract/operation.ts';
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

type Perform = (input: never, caller: Caller) => unknown;

/** The acts of a test in place of a client: operations by their names, and the ways that are no operation of one answer. */
export type Stub = Partial<Pick<HoldfastApi, 'sendMessage' | 'turn' | 'follow' | 'stream'>> &
  Partial<Record<'turns' | 'status' | 'interrupt' | 'cancelCall', Perform>> & {
    readonly [operation: `${string}.${string}`]: Perform;
  };

export class StubApi extends HoldfastApi {
  override readonly sessions: Sessions;
  override readonly artifacts: Artifacts;
  override readonly sendMessage;
  override readonly turn;
  override readonly follow;
  override readonly stream;

  constructor(stub: Stub) {
    const perform =
      (name: string) =>
      async (input: unknown, caller = OPERATOR) =>
        await ((stub as Record<string, Perform>)[name] ?? unperformed(name))(input as never, caller);
    super(
      (async ({ name }: Operation, input: unknown, caller: Caller) =>
        await perform(name)(input, caller)) as Call,
    );
    this.sessions = new Sessions(this.call, perform('sessions.retry') as never);
    this.artifacts = new Artifacts(this.call, {
      get: perform('artifacts.get') as never,
      put: perform('artifacts.put') as never,
    });
    this.sendMessage = stub.sendMessage ?? unperformed('sendMessage');
    this.turn = stub.turn ?? unperformed('turn');
    this.follow = stub.follow ?? unperformed('follow');
    this.stream = stub.stream ?? unperformed('stream');
  }
}

function unperformed(name: string): () => never {
  return () => {
    throw new Error(`the test performs no ${name}`);
  };
}

/** A gateway whose client does what a test says, for what no real one can be brought to do. */
export function stubGateway(
  stub: Stub | HoldfastApi = {},
  options: Partial<GatewayOptions> = {},
): StubGateway {
  const lines: LoggedLine[] = [];
  const gateway = createGateway({
    client: stub instanceof HoldfastApi ? stub : new StubApi(stub),
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

/** A client of a gateway in this process. */
export function clientOf({ gateway }: Pick<StubGateway, 'gateway'>): GatewayClient {
  const inProcess = async (url: unknown, init?: RequestInit) => {
    const headers = { ...(init?.headers as Record<string, string>), host: HOST };
    return await gateway.request(String(url), { ...init, headers });
  };
  return new GatewayClient({
    url: `http://${HOST}`,
    token: TOKEN,
    fetch: inProcess as typeof fetch,
    patience: 0,
  });
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
