import { authenticated, type Gate } from './access/screen.ts';
import type { GatewayContext, GatewayHono } from './gateway-app.ts';
import { RequestRefused } from './gateway-errors.ts';

/** Methods of each path that there is, by a pattern of it. */
type Paths = { pattern: RegExp; methods: Set<string> }[];

/**
 * Answers what no route takes: OPTIONS with the path's methods, another method of a path that there is, and paths that there
 * aren't. A stranger doesn't learn which is which.
 */
export function unknownRoute(app: GatewayHono, gate: Gate) {
  let paths: Paths | undefined;
  return async (context: GatewayContext): Promise<Response> => {
    await authenticated(gate, context);
    paths ??= pathsOf(app);
    const methods = paths.find(({ pattern }) => pattern.test(context.req.path))?.methods;
    if (methods === undefined) throw new RequestRefused('HOLDFAST_GATEWAY_NO_SUCH_ROUTE');
    const allow = { allow: [...methods, 'OPTIONS'].join(', ') };
    if (context.req.method === 'OPTIONS') return context.body(null, 204, allow);
    throw new RequestRefused('HOLDFAST_GATEWAY_METHOD_NOT_ALLOWED', undefined, allow);
  };
}

function pathsOf(app: GatewayHono): Paths {
  const byPath = new Map<string, Set<string>>();
  for (const { path, method } of app.routes) {
    if (method === 'ALL') continue;
    const methods = byPath.get(path) ?? new Set();
    methods.add(method);
    if (method === 'GET') methods.add('HEAD');
    byPath.set(path, methods);
  }
  return [...byPath].map(([path, methods]) => ({ pattern: patternOf(path), methods }));
}

function patternOf(path: string): RegExp {
  const parts = path.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll('.', '\\.')));
  return new RegExp(`^${parts.join('/')}$`);
}
