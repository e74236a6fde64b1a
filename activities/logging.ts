import { activityInfo } from '@temporalio/activity';
import type { AttemptOptions } from './attempt.ts';

/** Where a worker's lines for its operator go; the shape of Temporal's own logger. */
export interface HoldfastLogger {
  debug(message: string, attributes?: Record<string, unknown>): void;
  info(message: string, attributes?: Record<string, unknown>): void;
  warn(message: string, attributes?: Record<string, unknown>): void;
  error(message: string, attributes?: Record<string, unknown>): void;
}

/** The call that a line is about, as far as it is known. Users are never named. */
export interface CallPlace {
  app?: string | undefined;
  sessionId?: string | undefined;
  invocationId?: string | undefined;
  callKey?: string | undefined;
  step?: number | undefined;
  agent?: string | undefined;
  tool?: string | undefined;
}

export interface Logging {
  logger: HoldfastLogger;
  /** Whether texts of errors, which may quote anything, are kept out of the lines. */
  readonly conceal: boolean;
}

/** A logger whose lines say which call of which turn they are about, and which attempt of its activity wrote them. */
export function callLogger({ logger }: Pick<Logging, 'logger'>, place: CallPlace): HoldfastLogger {
  const attributes = attributesOf(place);
  const to =
    (level: keyof HoldfastLogger): HoldfastLogger[typeof level] =>
    (message, more) =>
      logger[level](message, { ...attributes, ...more });
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') };
}

/** Says where our own code failed, since the history gets no stack. */
export function reportUnexpected(logging: Logging, place: CallPlace): AttemptOptions {
  const { conceal } = logging;
  return {
    conceal,
    onUnexpected(error) {
      callLogger(logging, place).error('unexpected error', {
        error: error.name,
        stack: conceal ? framesOf(error) : error.stack,
      });
    },
  };
}

function attributesOf(place: CallPlace): Record<string, unknown> {
  const attributes = {
    app: place.app,
    session: place.sessionId,
    invocation: place.invocationId,
    callKey: place.callKey,
    step: place.step,
    agent: place.agent,
    tool: place.tool,
    attempt: activityInfo().attempt,
  };
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** A stack without the message that it begins with. */
export function framesOf({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => /^ {4}at .+:\d+:\d+\)?$/.test(line))
    .join('\n');
}
