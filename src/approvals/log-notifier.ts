import { visibleText } from '../protocol/visible-text.ts';
import type { Notifier } from './notifier.ts';
import { requestLines } from './request-lines.ts';

/** Where the lines go; any logger with Temporal's shape will do. */
export interface NoticeLogger {
  info(message: string, attributes?: Record<string, unknown>): void;
}

/**
 * Writes a line for each request: who asks, and what waits; no arguments, which are for those who decide.
 *
 * @param logger defaults to JSON lines on standard error.
 * @example new App({ name: 'shop', rootAgent, durable: { notifiers: [logNotifier()] } });
 */
export function logNotifier(logger: NoticeLogger = JSON_LINES): Notifier {
  return {
    name: 'log',
    async notify(requests, why) {
      for (const request of requests) {
        const { requestId, kind, app, sessionId, agent, tool, callKey, until } = request;
        const [message = ''] = requestLines(request, why);
        logger.info(message, {
          ...{ requestId, why, kind, app, session: visibleText(sessionId), agent, tool, callKey },
          ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
        });
      }
    },
  };
}

const JSON_LINES: NoticeLogger = {
  info(message, attributes) {
    const line = { time: new Date().toISOString(), level: 'info', message, ...attributes };
    process.stderr.write(`${JSON.stringify(line)}\n`);
  },
};
