import { tables } from './0001-tables.ts';
import { append } from './0002-append.ts';
import { steps } from './0003-steps.ts';
import { calls } from './0004-calls.ts';

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

/** Forward-only: a released migration never changes, and workers of the release before still run on its result. */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'tables', sql: tables },
  { version: 2, name: 'append', sql: append },
  { version: 3, name: 'steps', sql: steps },
  { version: 4, name: 'calls', sql: calls },
];
