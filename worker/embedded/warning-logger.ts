import { pathToFileURL } from 'node:url';
import type { HoldfastLogger } from '../../activities/logging.ts';
import { OWN_FOLDERS } from '../../src/own-files.ts';

const NOT_OF_USERS = [
  ...OWN_FOLDERS.map((folder) => pathToFileURL(folder).href),
  '/node_modules/@temporalio/',
  'node:',
];

const untold = () => undefined;

/**
 * Warnings and errors for a person at the terminal; the SDK's own shutdown and retry notes would drown the rest. Where user code
 * has failed, its own frames of the stack follow.
 */
export function warningLogger(tell: (lines: string) => void): HoldfastLogger {
  return {
    debug: untold,
    info: untold,
    warn: (message, attributes) => tell([message, ...framesOf(attributes).filter(isOfUsers)].join('\n')),
    error: (message, attributes) => tell([message, ...framesOf(attributes)].join('\n')),
  };
}

function framesOf(attributes: Record<string, unknown> | undefined): string[] {
  const stack = attributes?.stack;
  return typeof stack === 'string' ? stack.split('\n').filter((line) => /^ {4}at /.test(line)) : [];
}

function isOfUsers(frame: string): boolean {
  return !NOT_OF_USERS.some((place) => frame.includes(place));
}
