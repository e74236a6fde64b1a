import { z } from 'zod';
import type { Operation } from './operation.ts';

/** Version, operations and served agents of a gateway. */
export interface GatewayAbout {
  v: 1;
  /** Holdfast's version. */
  version: string;
  namespace: string;
  taskQueue: string;
  /** Base of the Temporal UI, without a slash at its end, where it is known. */
  uiUrl?: string;
  store: 'embedded' | 'postgres';
  /** Names of the apps and agents that workers of the gateway's process serve; empty where it has none. */
  apps: string[];
  agents: string[];
}

const ABOUT = z
  .looseObject({
    v: z.literal(1),
    version: z.string().meta({ description: 'Holdfast’s version.' }),
    namespace: z.string(),
    taskQueue: z.string(),
    uiUrl: z.string().optional().meta({ description: 'Base of the Temporal UI, where it is known.' }),
    store: z.enum(['embedded', 'postgres']),
    apps: z.array(z.string()),
    agents: z.array(z.string()),
  })
  .meta({ id: 'About' });

export const getAbout = {
  name: 'about',
  id: 'getAbout',
  tag: 'Gateway',
  summary: 'Show the version of Holdfast and the served agents',
  method: 'get',
  path: '/v1/about',
  may: { permission: 'read', of: 'path' },
  input: z.object({}),
  output: ABOUT,
  answer: 'About this gateway.',
} as const satisfies Operation;
