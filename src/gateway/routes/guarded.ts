import type { Permission } from '../access.ts';
import type { RouteSetting } from '../gateway-app.ts';
import { permitted } from '../screen.ts';
import { takeBody } from '../take-body.ts';

const BODY_LIMIT = 16 * 1024 * 1024;

/** What each route has that isn't open to everybody: a permission, and a bounded JSON body. */
export function guarded({ options }: RouteSetting, permission: Permission) {
  return {
    middleware: [permitted(options.access, permission), takeBody(options.bodyLimit ?? BODY_LIMIT)],
    security: [{ token: [] }],
    'x-holdfast-permission': permission,
  };
}
