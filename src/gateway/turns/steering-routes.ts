import { retryTurn } from '../../contract/sessions.ts';
import { STEERING } from '../../contract/turns.ts';
import type { GatewayHono } from '../gateway-app.ts';
import { turnView } from '../pages/links.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve, serveAll } from '../serve.ts';

/** Routes that change the running turn of a session, or an ended one. */
export function steeringRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { client, about } = setting.options;
  serveAll(app, setting, STEERING);
  serve(app, setting, retryTurn, async (retry) =>
    turnView(retry, await client.sessions.retry(retry), about()),
  );
}
