import type { GatewayContext } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import { readBody } from '../take-body.ts';
import type { WebhookRequest } from './options.ts';

const MOST_BYTES = 1024 * 1024;
const SHOWN = /^(?:content-type|user-agent|x-[a-z\d-]{1,60})$/;
/** They are about the carrier of the request, and not trusted here. */
const HIDDEN = /^x-(?:forwarded|real-ip|holdfast)/;

/**
 * A request as it came: nothing is parsed before its signature was looked at.
 *
 * @throws RequestRefused where its body is too large, or packed.
 */
export async function readWebhook(context: GatewayContext): Promise<WebhookRequest> {
  const { req } = context;
  if (!/^(identity)?$/i.test(req.header('content-encoding') ?? ''))
    throw new RequestRefused('HOLDFAST_GATEWAY_UNSUPPORTED_TYPE');
  const body = await readBody(context, MOST_BYTES);
  return { headers: headersOf(context), body };
}

/** Those that its handler may see. */
export function shownHeaders({ headers }: WebhookRequest): Record<string, string> {
  const shown = Object.entries(headers).filter(([name]) => SHOWN.test(name) && !HIDDEN.test(name));
  return Object.fromEntries(shown.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

/** As they came: the platform's own type joins those that came twice. */
function headersOf({ req, env }: GatewayContext): WebhookRequest['headers'] {
  const distinct = env?.incoming?.headersDistinct;
  if (distinct === undefined) return Object.fromEntries(req.raw.headers);
  return Object.fromEntries(
    Object.entries(distinct).map(([name, values = []]) => [name, values.length === 1 ? values[0] : values]),
  );
}
