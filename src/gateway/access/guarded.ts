import type { Permission } from '../../contract/lists.ts';
import type { Operation } from '../../contract/operation.ts';
import type { Documented } from '../document/api-document.ts';
import type { GatewayMiddleware } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { drainBody, takeBody } from '../take-body.ts';
import { ownOrPermitted } from './own-token.ts';
import { permitted, type SubjectOf } from './screen.ts';
import { SUBJECTS } from './subjects.ts';

const BODY_LIMIT = 16 * 1024 * 1024;
/** Bytes of what is no message and no session: decisions and other words of people. */
const SHORT_BODY = 4 * 1024 * 1024;

/** The middleware before a route, and the words of its document about it. */
interface Guard extends Pick<Documented, 'security' | 'x-holdfast-permission'> {
  middleware: readonly GatewayMiddleware[];
}

/** Lets through the callers that an operation's contract names, with a body that is no larger than it says. */
export function guardOf(setting: RouteSetting, operation: Operation): Guard {
  const { may, mostBytes = SHORT_BODY, bytes } = operation;
  const { permission, of, own } = may;
  const find = SUBJECTS[of](setting);
  const screened = own ? ownOrPermitted(setting, permission, find) : byPermission(setting, permission, find);
  return {
    // A route reads and bounds bytes of any type itself.
    middleware: bytes === 'body' ? [drainBody, screened] : [screened, bodyOf(setting, mostBytes)],
    security: own ? [{ token: [] }, { jobToken: [] }] : [{ token: [] }],
    'x-holdfast-permission': [permission].flat().join(' or '),
  };
}

/** Each route that is no operation and isn't open to everybody has these: a permission, and a bounded JSON body. */
export function guarded(setting: RouteSetting, permission: Permission, find: SubjectOf): GatewayMiddleware[] {
  return [byPermission(setting, permission, find), bodyOf(setting, SHORT_BODY)];
}

function byPermission(
  { options, limits }: RouteSetting,
  permission: Permission | readonly Permission[],
  find: SubjectOf,
) {
  return permitted({ access: options.access, limits }, permission, find);
}

function bodyOf({ options }: RouteSetting, most: number): GatewayMiddleware {
  return takeBody(Math.min(most, options.bodyLimit ?? BODY_LIMIT));
}
