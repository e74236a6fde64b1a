import { SESSIONS } from '../../contract/sessions.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serveAll } from '../serve.ts';
import { demandSharedState } from './shared-state.ts';

/** Sessions made, found, read, forked, rewound and deleted. */
export function sessionRoutes(app: GatewayHono, setting: RouteSetting): void {
  serveAll(app, setting, SESSIONS, {
    'sessions.create': async (create, context, perform) => {
      demandSharedState(context, create.app, create.state);
      return perform();
    },
  });
}
