import type { GatewayContext } from '../gateway-app.ts';
import type { AccessRequest } from './access.ts';

/** Of these, one is the protocol's limit, and two are a trick. */
const SINGLE = new Set([
  'host',
  'origin',
  'authorization',
  'content-type',
  'content-length',
  'last-event-id',
]);

/** The part of a request that access sees. */
export function accessRequestOf(context: GatewayContext): AccessRequest {
  const { req, env } = context;
  const incoming = env?.incoming;
  return {
    method: req.method,
    url: new URL(req.url),
    headers: req.raw.headers,
    repeated: repeatedIn(incoming?.rawHeaders ?? []),
    localPort: incoming?.socket.localPort,
    remoteAddress: incoming?.socket.remoteAddress,
  };
}

/** @param raw names and values in turns. */
function repeatedIn(raw: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  raw.forEach((name, index) => {
    const lower = name.toLowerCase();
    if (index % 2 === 1 || !SINGLE.has(lower)) return;
    if (seen.has(lower)) repeated.add(lower);
    seen.add(lower);
  });
  return repeated;
}
