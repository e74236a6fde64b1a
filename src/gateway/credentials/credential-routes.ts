import {
  listAppCredentials,
  listUserCredentials,
  putCredential,
  removeCredential,
} from '../../contract/credentials.ts';
import { guarded } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';

/** Stores and removes secrets of users. No answer has a secret. */
export function credentialRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { credentials } = setting.options.client;
  const [reads, operates] = [guarded(setting, 'read'), guarded(setting, 'operate')];
  serve(app, putCredential, operates, async (put) => credentials.put(put));
  serve(app, listUserCredentials, reads, async (list) => ({ credentials: await credentials.list(list) }));
  serve(app, listAppCredentials, reads, async (list) => ({ credentials: await credentials.list(list) }));
  serve(app, removeCredential, operates, async (remove) => ({ removed: await credentials.remove(remove) }));
}
