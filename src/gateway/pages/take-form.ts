import type { GatewayContext } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import { readBody } from '../take-body.ts';

/** Values of a form, by the names of its fields. */
export type Form = ReadonlyMap<string, string>;

/** Bytes: a decision has 32 KiB of JSON at most, which a form writes three times as long. */
const LONGEST_FORM = 256 * 1024;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i;

/** @throws RequestRefused for what no form of these pages sends. */
export async function takeForm(context: GatewayContext): Promise<Form> {
  const { req } = context;
  const type = req.header('content-type') ?? '';
  const encoding = req.header('content-encoding') ?? '';
  if (!FORM_TYPE.test(type) || !/^(identity)?$/i.test(encoding))
    throw new RequestRefused('HOLDFAST_GATEWAY_UNSUPPORTED_TYPE');
  const bytes = await readBody(context, LONGEST_FORM);
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(bytes.toString('latin1'))) {
    if (form.has(name))
      throw new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', 'body: a field stands in it twice');
    // As browsers end lines.
    form.set(name, value.replaceAll('\r\n', '\n'));
  }
  return form;
}
