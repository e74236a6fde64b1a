import { dev, graph, mcp, run } from './agents.ts';
import type { AddCommand } from './command.ts';
import { completion } from './completion.ts';
import { explain } from './explain.ts';
import { doctor, init, replay } from './project.ts';
import { codec, gateway, stop, temporal, worker } from './servers.ts';

/** Commands of one noun. Their options come from its contract, which is loaded when one of them is named. */
export interface CommandGroup {
  name: string;
  description: string;
  load(): Promise<AddCommand>;
}

/** In the order in which `holdfast --help` shows them. */
export const COMMANDS: readonly (AddCommand | CommandGroup)[] = [
  init,
  dev,
  run,
  {
    name: 'sessions',
    description: 'list, read and change sessions',
    load: async () => (await import('./sessions.ts')).sessions,
  },
  {
    name: 'turns',
    description: 'list, look at and end the turns that run',
    load: async () => (await import('./turns.ts')).turns,
  },
  {
    name: 'approvals',
    description: 'list, show and answer what waits for people',
    load: async () => (await import('./approvals.ts')).approvals,
  },
  {
    name: 'artifacts',
    description: 'list, read, save and delete the files of sessions',
    load: async () => (await import('./artifacts.ts')).artifacts,
  },
  {
    name: 'memories',
    description: 'what is remembered of users: search, add, delete',
    load: async () => (await import('./memories.ts')).memories,
  },
  {
    name: 'corpora',
    description: 'documents that agents search: load, list, remove',
    load: async () => (await import('./corpora.ts')).corpora,
  },
  {
    name: 'jobs',
    description: 'list, show and end the jobs of long-running tools',
    load: async () => (await import('./jobs.ts')).jobs,
  },
  {
    name: 'notices',
    description: 'what notifiers could not tell anybody: list, send again, drop',
    load: async () => (await import('./notices.ts')).notices,
  },
  {
    name: 'credentials',
    description: 'store secrets for tools, encrypted',
    load: async () => (await import('./credentials.ts')).credentials,
  },
  {
    name: 'keys',
    description: 'API keys for the gateway, and keys that approvers sign their decisions with',
    load: async () => (await import('./keys.ts')).keys,
  },
  graph,
  doctor,
  explain,
  replay,
  worker,
  gateway,
  mcp,
  stop,
  temporal,
  codec,
  completion,
];
