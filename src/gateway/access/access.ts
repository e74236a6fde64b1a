import type { Permission } from '../../contract/keys.ts';

/**
 * What a request asks for. Without `userId`: of all users of the app; without `app`: of all apps, and of the gateway itself. A message
 * that answers requests needs `approve` beside `run`, and one that ends jobs `operate`.
 */
export interface Need {
  permission: Permission;
  app?: string;
  userId?: string;
}

/** `hidden` is answered like what isn't there, so that nobody learns of other users' and apps' sessions. */
export type Verdict = 'allowed' | 'forbidden' | 'hidden';

/** A part of what a principal may do. */
export interface Reach {
  permissions: readonly Permission[];
  /** Absent for all apps. */
  app?: string;
  /** Absent for all users. */
  userId?: string;
}

/** Who has sent a request. */
export interface Principal {
  /** For audit; never a secret. */
  readonly name: string;
  /** As whom it decides and sends, which the gateway attests; absent where nothing says who that is, as with a machine's own token. */
  readonly person?: string;
  /** The only user whose sessions it may reach, and in whose name it acts; absent for one that serves all users of its apps. */
  readonly userId?: string;
  /** Of the API key that has shown who it is. */
  readonly keyId?: string;
  /** The only apps that it reaches; absent where that is not known, or all of them. */
  readonly apps?: readonly string[];
  /** What it may do, and where; absent where that is not known. */
  readonly reaches?: readonly Reach[];
  /** It may ask as often as it likes: it is of the gateway's own machine. */
  readonly unlimited?: boolean;
  may(need: Need): Verdict;
}

/** Why a request goes no further; its sender learns no more than this. */
export type Refusal = 'unauthenticated' | 'forbidden';

/** What of a request says who sends it, and from where. */
export interface AccessRequest {
  method: string;
  /** Absolute, as the server understood it. */
  url: URL;
  headers: Headers;
  /** Header names in lower case that came more than once, though the protocol allows one. */
  repeated: ReadonlySet<string>;
  /** The port that the request came in at; undefined where it came by no socket, as in a test. */
  localPort: number | undefined;
  /** Of whoever has connected: a proxy, where there is one; undefined as `localPort`. */
  remoteAddress?: string | undefined;
}

/** Who may use a gateway, and what for. */
export interface Access {
  /** How far a gateway with this access may be reached: `network` only where each caller proves who it is. */
  readonly reach: 'loopback' | 'network';
  /** Looks at every request first, those that need no principal included. */
  screen(request: AccessRequest): Refusal | undefined;
  authenticate(request: AccessRequest): Principal | Refusal | Promise<Principal | Refusal>;
}
