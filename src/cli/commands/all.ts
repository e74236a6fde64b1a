import { approvals } from './approvals.ts';
import type { AddCommand } from './command.ts';
import { completion } from './completion.ts';
import { credentials } from './credentials.ts';
import { dev } from './dev.ts';
import { doctor } from './doctor.ts';
import { gateway } from './gateway.ts';
import { graph } from './graph.ts';
import { init } from './init.ts';
import { jobs } from './jobs.ts';
import { keys } from './keys.ts';
import { notices } from './notices.ts';
import { replay } from './replay.ts';
import { run } from './run.ts';
import { sessions } from './sessions.ts';
import { stop } from './stop.ts';
import { temporal } from './temporal.ts';
import { worker } from './worker.ts';

/** In the order in which `holdfast --help` shows them. */
export const COMMANDS: readonly AddCommand[] = [
  init,
  dev,
  run,
  sessions,
  approvals,
  jobs,
  notices,
  credentials,
  keys,
  graph,
  doctor,
  replay,
  worker,
  gateway,
  stop,
  temporal,
  completion,
];
