import { addMemory, deleteMemories, deleteMemory, listMemories } from '../../contract/memories.ts';
import { guarded } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';

/** Memories of users searched, added and deleted. */
export function memoryRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { memories } = setting.options.client;
  const [reads, operates] = [guarded(setting, 'read'), guarded(setting, 'operate')];
  serve(app, listMemories, reads, async (list) => memories.list(list));
  serve(app, addMemory, operates, async (add) => memories.add(add));
  serve(app, deleteMemory, operates, async (which) => ({ deleted: await memories.delete(which) }));
  serve(app, deleteMemories, operates, async (owner) => ({ deleted: await memories.deleteAll(owner) }));
}
