import type { Permission } from '../../contract/lists.ts';

/**
 * The access that a request needs. Without `userId`: of all users of the app; without `app`: of all apps, and of the gateway itself. A message
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

/** The sender of a request. */
export interface Principal {
  /** For audit; never a secret. */
  readonly name: string;
  /** Name in its decisions and messages, which the gateway attests; absent for an unknown person, as with a machine's own token. */
  readonly person?: string;
  /** The only user whose sessions it may reach, and in whose name it acts; absent for one that serves all users of its apps. */
  readonly userId?: string;
  /** Of the API key that has shown who it is. */
  readonly keyId?: string;
  /** The only apps that it reaches; absent where that is not known, or all of them. */
  readonly apps?: readonly string[];
  /** Permissions and where they hold; absent when they are not known. */
  readonly reaches?: readonly Reach[];
  /** It may ask as often as it likes: it is of the gateway's own machine. */
  readonly unlimited?: boolean;
  may(need: Need): Verdict;
}

/** Why a request goes no further; its sender learns no more than this. */
export type Refusal = 'unauthenticated' | 'forbidden';

/** Facts of a request that tell its sender and origin. */
export interface AccessRequest {
  method: string;
  /** Absolute, as the server understood it. */
  url: URL;
  headers: Headers;
  /** Header names in lower case that came more than once, though the protocol allows one. */
  repeated: ReadonlySet<string>;
  /** The port that the request came in at; undefined where it came by no socket, as in a test. */
  localPort: number | undefined;
  /** Address of the connection, which may be a proxy's; undefined as `localPort`. */
  remoteAddress?: string | undefined;
}

/** Identities and permissions at a gateway. */
export interface Access {
  /** How far a gateway with this access may be reached: `network` only where each caller proves who it is. */
  readonly reach: 'loopback' | 'network';
  /** Looks at every request first, those that need no principal included. */
  screen(request: AccessRequest): Refusal | undefined;
  authenticate(request: AccessRequest): Principal | Refusal | Promise<Principal | Refusal>;
}
