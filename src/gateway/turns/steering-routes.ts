import { retryTurn } from '../../contract/sessions.ts';
import { cancelCall, getStatus, interruptTurn } from '../../contract/turns.ts';
import { guarded } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import { turnView } from '../pages/links.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';

/** Routes that change the running turn of a session, or an ended one. */
export function steeringRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { client, about } = setting.options;
  const operates = guarded(setting, 'operate');
  serve(app, getStatus, guarded(setting, 'read'), async ({ timeout, ...names }) => ({
    status: (await client.status(names, timeout === undefined ? {} : { timeout })) ?? null,
  }));
  serve(app, interruptTurn, operates, async ({ app: ofApp, userId, sessionId, ...order }) =>
    client.interrupt({ app: ofApp, userId, sessionId }, order),
  );
  serve(app, cancelCall, operates, async ({ app: ofApp, userId, sessionId, ...call }) =>
    client.cancelCall({ app: ofApp, userId, sessionId }, call),
  );
  serve(app, retryTurn, operates, async ({ callKey, ...names }) =>
    turnView(names, await client.sessions.retry({ ...names, callKey }), about()),
  );
}
