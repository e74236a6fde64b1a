import { hasCode } from '../../contract/error.ts';
import { checkedUrl, mayAsk } from '../../net/public-address.ts';
import type { OptionReader } from '../../schema/option-reader.ts';

/** A server that no request may go to is told before the first one. */
export function assertServer(read: OptionReader, baseUrl: string, allow: readonly string[]): void {
  try {
    checkedUrl(baseUrl, allow);
  } catch (error) {
    if (!hasCode(error, 'HOLDFAST_ADDRESS_REFUSED')) throw error;
    read.fail('endpoint.baseUrl', `${error.message}: choose another by server${allowAdvice(baseUrl, allow)}`);
  }
}

/** Advice for an address that was refused, where any helps. */
export function allowAdvice(address: string | URL, allow: readonly string[]): string {
  const entry = URL.parse(String(address))?.host ?? '';
  if (mayAsk(address, allow) || !mayAsk(address, [entry])) return '';
  return `, or add ${JSON.stringify(entry)} to allow if you trust it without TLS or in your network`;
}
