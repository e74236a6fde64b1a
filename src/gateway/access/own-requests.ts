import type { AccessRequest } from './access.ts';

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'] as const;

/** Of a request that no page has caused, or one of the gateway's own. Another port of this machine is of the same site. */
const OWN_SITES: readonly (string | null)[] = [null, 'none', 'same-origin'];

/** By what a gateway is called. */
export interface OwnNames {
  /** Values of `Host`, in lower case, with their ports. */
  hosts: readonly string[];
  origins: readonly string[];
}

/**
 * Whether a request means this gateway, and comes from no page of another origin, which a browser sends from wherever it runs:
 * by `Host` (a foreign name that was pointed here, DNS rebinding), by `Origin` and by `Sec-Fetch-Site`. A link that somebody
 * follows from another page opens: what it shows is read by nobody else, and links change nothing.
 */
export function isOwnRequest(request: AccessRequest, { hosts, origins }: OwnNames): boolean {
  const { url, headers, repeated } = request;
  if (repeated.has('host') || repeated.has('origin')) return false;
  const host = headers.get('host') ?? url.host;
  if (!hosts.includes(host.toLowerCase()) || !hosts.includes(url.host)) return false;
  const origin = headers.get('origin');
  if (origin !== null && !origins.includes(origin)) return false;
  return OWN_SITES.includes(headers.get('sec-fetch-site')) || isFollowedLink(request);
}

/** Names of loopback, with the port that a request came in at. */
export function loopbackNames({ localPort }: Pick<AccessRequest, 'localPort'>): OwnNames {
  if (localPort === undefined) return { hosts: [], origins: [] };
  return namesOf(
    LOOPBACK_NAMES.flatMap((name) => (localPort === 80 ? [name, `${name}:80`] : [`${name}:${localPort}`])),
  );
}

/** Hosts that are reached by HTTP. */
export function namesOf(hosts: readonly string[]): OwnNames {
  return { hosts, origins: hosts.map((host) => `http://${host}`) };
}

function isFollowedLink({ method, headers }: AccessRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  return (
    isRead && headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document'
  );
}
