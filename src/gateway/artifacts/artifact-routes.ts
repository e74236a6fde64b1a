import { ARTIFACTS } from '../../contract/artifacts.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serveAll } from '../serve.ts';
import { bytesOfBody } from '../take-body.ts';
import { download } from './download.ts';

/** Artifacts listed, downloaded, uploaded and deleted. */
export function artifactRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { artifacts } = setting.options.client;
  serveAll(app, setting, ARTIFACTS, {
    'artifacts.get': async (which, context) => download(context, artifacts, which),
    'artifacts.put': async (file, context) =>
      artifacts.put({ ...file, bytes: bytesOfBody(context), signal: context.req.raw.signal }),
  });
}
