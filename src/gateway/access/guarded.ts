import type { Permission } from '../../contract/keys.ts';
import type { RouteSetting } from '../route-setting.ts';
import { drainBody, takeBody } from '../take-body.ts';
import { permitted, type SubjectOf } from './screen.ts';

/** Of messages and sessions, which hold files and long texts. */
export const LONG_BODY = Number.POSITIVE_INFINITY;

const BODY_LIMIT = 16 * 1024 * 1024;
/** Bytes of what is no message and no session: decisions and other words of people. */
const SHORT_BODY = 4 * 1024 * 1024;

/**
 * Each route that isn't open to everybody has these: a permission, and a bounded JSON body.
 *
 * @param permission or several, one of which is enough.
 * @param find whose affairs a request is about, where its path doesn't name them.
 * @param most bytes of its body, where the gateway itself takes as many.
 */
export function guarded(
  setting: RouteSetting,
  permission: Permission | readonly Permission[],
  find?: SubjectOf,
  most: number = SHORT_BODY,
) {
  const { options } = setting;
  const { middleware, ...access } = permissionOf(setting, permission, find);
  return {
    ...access,
    middleware: [...middleware, takeBody(Math.min(most, options.bodyLimit ?? BODY_LIMIT))],
  };
}

/** As {@link guarded}, of a route whose body is bytes of any type, which it reads and bounds itself. */
export function guardedBytes(setting: RouteSetting, permission: Permission) {
  const { middleware, ...access } = permissionOf(setting, permission);
  return { ...access, middleware: [drainBody, ...middleware] };
}

function permissionOf(
  { options, limits }: RouteSetting,
  permission: Permission | readonly Permission[],
  find?: SubjectOf,
) {
  return {
    middleware: [permitted({ access: options.access, limits }, permission, find)],
    security: [{ token: [] }],
    'x-holdfast-permission': [permission].flat().join(' or '),
  };
}
