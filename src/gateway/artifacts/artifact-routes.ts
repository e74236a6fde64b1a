import {
  deleteArtifact,
  getArtifact,
  listArtifacts,
  listArtifactVersions,
  putArtifact,
} from '../../contract/artifacts.ts';
import { guarded, guardedBytes } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';
import { bytesOfBody } from '../take-body.ts';
import { download } from './download.ts';

/** Artifacts listed, downloaded, uploaded and deleted. */
export function artifactRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { artifacts } = setting.options.client;
  const reads = guarded(setting, 'read');
  serve(app, listArtifacts, reads, async (list) => artifacts.list(list));
  serve(app, listArtifactVersions, reads, async (which) => ({ versions: await artifacts.versions(which) }));
  serve(app, getArtifact, reads, async (which, context) => download(context, artifacts, which));
  serve(app, putArtifact, guardedBytes(setting, 'run'), async (file, context) =>
    artifacts.put({ ...file, bytes: bytesOfBody(context), signal: context.req.raw.signal }),
  );
  serve(app, deleteArtifact, guarded(setting, 'operate'), async (which) => ({
    deleted: await artifacts.delete(which),
  }));
}
