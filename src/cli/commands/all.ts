import type { AddCommand } from './command.ts';
import { run } from './run.ts';
import { stop } from './stop.ts';

/** In the order in which `holdfast --help` shows them. */
export const COMMANDS: readonly AddCommand[] = [run, stop];
