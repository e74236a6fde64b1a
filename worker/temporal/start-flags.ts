import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../../src/protocol/names.ts';
import { DATABASE_FILE } from './database-file.ts';

export const REQUIRED_FLAGS = [
  'db-filename',
  'dynamic-config-value',
  'env-file',
  'ip',
  'log-level',
  'port',
  'search-attribute',
  'sqlite-pragma',
  'ui-port',
] as const;

/**
 * The development server polls its queues, and lets a workflow id be used again, far slower than a turn needs; users' fair shares
 * of the workers are off by default.
 */
const DYNAMIC_CONFIG = [
  'history.transferProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxPollRPS=2000',
  'history.visibilityProcessorMaxPollRPS=2000',
  'history.workflowIdReuseMinimalInterval="1ms"',
  'matching.enableFairness=true',
  'frontend.enableServerVersionCheck=false',
];

const SQLITE_PRAGMAS = ['journal_mode=wal', 'synchronous=1'];

const SWITCHES_IF_KNOWN = ['disable-config-file', 'disable-config-env', 'ui-disable-news-fetch'];

export interface ServerPorts {
  grpc: number;
  ui: number;
}

/**
 * Arguments of the embedded server, to be run with `folder` as its working directory: the database is named
 * relative to it because the server takes its name for a URL, and would break on `%`, `?` or `#` in a path.
 */
export function startArguments(folder: string, ports: ServerPorts, flags: ReadonlySet<string>): string[] {
  return [
    'server',
    'start-dev',
    '--env-file',
    ownEnvironmentFile(folder),
    '--ip',
    '127.0.0.1',
    '--port',
    String(ports.grpc),
    '--ui-port',
    String(ports.ui),
    '--db-filename',
    DATABASE_FILE,
    '--log-level',
    'error',
    ...DYNAMIC_CONFIG.flatMap((pair) => ['--dynamic-config-value', pair]),
    ...SQLITE_PRAGMAS.flatMap((pragma) => ['--sqlite-pragma', pragma]),
    ...SEARCH_ATTRIBUTES.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ...SWITCHES_IF_KNOWN.filter((name) => flags.has(name)).map((name) => `--${name}`),
  ];
}

/**
 * A settings file of the CLI that doesn't exist: it keeps the user's own settings out of our server, and makes
 * the folder's path part of the server's command line, by which a process is known to be ours.
 */
export function ownEnvironmentFile(folder: string): string {
  return join(folder, 'temporal.env.yaml');
}
