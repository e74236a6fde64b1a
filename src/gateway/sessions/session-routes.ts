import {
  createSession,
  deleteSession,
  forkSession,
  getSession,
  listAppSessions,
  listUserSessions,
  rewindSession,
} from '../../contract/sessions.ts';
import { guarded, LONG_BODY } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';
import { demandSharedState } from './shared-state.ts';

/** Sessions made, found, read, forked, rewound and deleted. */
export function sessionRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { sessions } = setting.options.client;
  const [reads, operates] = [guarded(setting, 'read'), guarded(setting, 'operate')];
  serve(app, createSession, guarded(setting, 'run', undefined, LONG_BODY), async (create, context) => {
    demandSharedState(context, create.app, create.state);
    return sessions.create(create);
  });
  serve(app, listUserSessions, reads, async (list) => sessions.list(list));
  serve(app, listAppSessions, reads, async (list) => sessions.list(list));
  serve(app, getSession, reads, async (get) => {
    const session = await sessions.get(get);
    if (session === undefined) throw new RequestRefused('HOLDFAST_SESSION_NOT_FOUND');
    return session;
  });
  serve(app, deleteSession, operates, async (remove) => sessions.delete(remove));
  serve(app, forkSession, operates, async (fork) => sessions.fork(fork));
  serve(app, rewindSession, operates, async (rewind) => sessions.rewind(rewind));
}
