import { hostOf, PUBLIC_URL_FORM, publicUrlOf } from '../../net/public-url.ts';
import type { Access, AccessRequest, Principal, Refusal } from './access.ts';
import type { ApiKeys } from './api-keys.ts';
import { isOwnRequest, loopbackNames, type OwnNames } from './own-requests.ts';

/** Probes of a cluster call an address, which is no name of the gateway's. Their answers have no secret. */
const ASKED_BY_ADDRESS = new Set(['/v1/health', '/v1/ready']);

const BEARER = /^bearer +([^\s]+)$/i;

/** Finds out whose token a request has; undefined for a token of a form that isn't its own. */
export interface TokenCheck {
  check(token: string, request: AccessRequest): Promise<Principal | Refusal> | undefined;
}

export interface NetworkAccessOptions {
  /**
   * Where callers reach the gateway, as they write it: `https://agents.example.com`. Requests for other hosts are refused, but those of
   * this machine for its loopback names.
   */
  publicUrl?: string | undefined;
  /** Further values of `Host` that are this gateway, with their ports where they aren't 443; they are reached by https. */
  hosts?: readonly string[] | undefined;
  /** Keys of the store. */
  keys?: ApiKeys | undefined;
  /** Further tokens. */
  checks?: readonly TokenCheck[] | undefined;
  /** Access that programs of this machine have beside. */
  local?: Access | undefined;
}

/**
 * Access for callers who each prove who they are, by an API key or by another token. A gateway with it may listen where other machines
 * reach it, once it knows by which names they do.
 *
 * @throws TypeError for a public URL that is none of http or https, for hosts that no header has, and where other machines reach the
 *   gateway and nothing is there by which a caller could prove who it is.
 */
export function networkAccess(options: NetworkAccessOptions): Access {
  const { keys, checks = [], local } = options;
  const named = ownNames(options);
  const tokens: TokenCheck[] = [...(keys === undefined ? [] : [keyCheck(keys)]), ...checks];
  const reach = reachOf(named);
  if (reach === 'network' && tokens.length === 0) {
    refuse(
      'keys, checks',
      'API keys, issuers or other checks of tokens, as other machines reach the gateway',
    );
  }
  return {
    reach,
    screen(request) {
      if (local !== undefined && local.screen(request) === undefined) return undefined;
      if (named.hosts.length > 0 && ASKED_BY_ADDRESS.has(request.url.pathname)) return undefined;
      const here = loopbackNames(request);
      const own = {
        hosts: [...named.hosts, ...here.hosts],
        origins: [...named.origins, ...here.origins],
      };
      return isOwnRequest(request, own) ? undefined : 'forbidden';
    },
    async authenticate(request) {
      const { headers, repeated } = request;
      if (repeated.has('authorization')) return 'unauthenticated';
      if (local !== undefined && local.screen(request) === undefined) {
        const principal = await local.authenticate(request);
        if (typeof principal !== 'string') return principal;
      }
      const token = BEARER.exec(headers.get('authorization') ?? '')?.[1];
      if (token === undefined) return 'unauthenticated';
      for (const each of tokens) {
        const found = each.check(token, request);
        if (found !== undefined) return await found;
      }
      return 'unauthenticated';
    },
  };
}

/**
 * How far a gateway may be reached that is called by these names.
 *
 * @throws TypeError as {@link networkAccess} does for names.
 */
export function networkReach(names: Pick<NetworkAccessOptions, 'publicUrl' | 'hosts'>): Access['reach'] {
  return reachOf(ownNames(names));
}

function reachOf({ hosts }: OwnNames): Access['reach'] {
  return hosts.length === 0 ? 'loopback' : 'network';
}

function keyCheck(keys: ApiKeys): TokenCheck {
  return {
    check(token) {
      if (!token.startsWith('hf_')) return undefined;
      return keys.authenticate(token).then((principal) => principal ?? 'unauthenticated');
    },
  };
}

function ownNames({ publicUrl, hosts = [] }: NetworkAccessOptions): OwnNames {
  const own = hosts.map((host) => hostOf(host) ?? refuse('hosts', 'names like agents.example.com:8443'));
  const origins = own.map((host) => `https://${host}`);
  if (publicUrl === undefined) return { hosts: own, origins };
  const url = publicUrlOf(publicUrl) ?? refuse('publicUrl', PUBLIC_URL_FORM);
  return { hosts: [...own, url.host], origins: [...origins, url.origin] };
}

function refuse(option: string, expected: string): never {
  throw new TypeError(`networkAccess: ${option}: expected ${expected}`);
}
