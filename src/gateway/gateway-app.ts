import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import type { DeniedKind } from '../contract/keys.ts';
import type { Principal } from './access/access.ts';
import { ApiDocument } from './document/api-document.ts';

export interface GatewayEnv {
  /** Of Node's server; absent in process. */
  Bindings: Partial<HttpBindings> | undefined;
  Variables: {
    requestId: string;
    principal: Principal;
    /** Of who speaks for a job by its own token, in place of a principal. */
    jobToken?: string;
    /** Throws what the caller would be told now, if it came anew; of routes that need a permission. */
    readmit: () => Promise<void>;
    /** The caller has shown a credential that nobody gave out: it counts as a guess, with any answer. */
    isGuess?: true;
    /** The refused action of the principal; `who` names the person of a link. */
    denied?: Pick<DeniedKind, 'reason' | 'permission' | 'app' | 'who'>;
  };
}

/** The gateway's routes, and what its document says of them. */
export class GatewayHono extends Hono<GatewayEnv> {
  readonly document = new ApiDocument();
}

export type GatewayContext = Context<GatewayEnv>;
export type GatewayMiddleware = MiddlewareHandler<GatewayEnv>;

export function emptyApp(): GatewayHono {
  return new GatewayHono({ getPath: rawPathOf });
}

/** The path as it was sent: its parts are decoded once, each by itself, so that they may hold slashes. */
function rawPathOf(request: Request): string {
  const { url } = request;
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}
