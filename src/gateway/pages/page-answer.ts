import { errorAnswer } from '../error-answer.ts';
import type { GatewayContext } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { GatewayLogger } from '../gateway-logger.ts';
import { wordsPage } from './shell.ts';
import { PAGE_POLICY } from './style.ts';

type Status = 200 | 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 429 | 500 | 501 | 503 | 504;

type Handler = (context: GatewayContext) => Promise<Response>;

/** Answers with a page that no browser keeps, shares, frames, or tells others of. */
export function sendPage(context: GatewayContext, page: string, status: Status = 200): Response {
  context.header('content-security-policy', PAGE_POLICY);
  context.header('cache-control', 'no-store');
  context.header('referrer-policy', 'no-referrer');
  context.header('x-robots-tag', 'noindex, nofollow');
  context.header('cross-origin-opener-policy', 'same-origin');
  context.header('permissions-policy', 'camera=(), geolocation=(), microphone=()');
  return context.html(page, status);
}

/** The answer about everything that isn't there: a guess learns nothing. */
export function noSuchPage(context: GatewayContext): Response {
  const page = wordsPage({
    title: 'There is nothing here',
    text: 'The link is wrong, or its page is gone. Open the whole link again, exactly as you got it.',
  });
  return sendPage(context, page, 404);
}

/** A page for a request; an error is a page, too. */
export function pageRoute(logger: GatewayLogger, handlers: { GET: Handler; POST?: Handler }): Handler {
  const allowed = ['GET', 'HEAD', ...(handlers.POST === undefined ? [] : ['POST'])];
  return async (context) => {
    const { method } = context.req.raw;
    const handler = method === 'HEAD' ? handlers.GET : handlers[method as 'GET' | 'POST'];
    try {
      if (handler === undefined) throw new RequestRefused('HOLDFAST_GATEWAY_METHOD_NOT_ALLOWED');
      return await handler(context);
    } catch (error) {
      const { status, headers, unexpected, body } = errorAnswer(error);
      if (unexpected) logger.error('a page has failed', { requestId: context.get('requestId'), error });
      for (const [name, value] of Object.entries(headers)) context.header(name, value);
      if (status === 405) context.header('allow', allowed.join(', '));
      if (status === 404) return noSuchPage(context);
      return sendPage(context, wordsPage(wordsOf(status, body.error.message)), status);
    }
  };
}

function wordsOf(status: number, message: string): { title: string; text: string } {
  switch (status) {
    case 403:
      return {
        title: 'Nothing was sent',
        text: 'This form came from another page, or from a window that was open for too long. Open the page again, and send it from there.',
      };
    case 405:
    case 415:
      return { title: 'Nothing was sent', text: 'A browser doesn’t ask for this page in such a way.' };
    case 500:
      return { title: 'Something went wrong', text: 'Try again. The operator’s log has the cause.' };
    case 503:
    case 504:
      return {
        title: 'Not now',
        text: 'Holdfast can’t be reached at the moment. Try again in a minute: your link is still good.',
      };
    default:
      return { title: 'Nothing was sent', text: message };
  }
}
