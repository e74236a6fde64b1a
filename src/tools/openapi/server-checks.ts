import { hasCode } from '../../contract/error.ts';
import { checkedUrl, mayAsk } from '../../net/public-address.ts';

/** Why no request may go to a server, as far as that is known without resolving it, and what helps. */
export function refusalOf(baseUrl: string, allow: readonly string[] = []): string | undefined {
  try {
    checkedUrl(baseUrl, allow);
    return undefined;
  } catch (error) {
    if (!hasCode(error, 'HOLDFAST_ADDRESS_REFUSED')) throw error;
    return `${error.message}: choose another server${allowAdvice(baseUrl, allow)}`;
  }
}

/** Advice for an address that was refused, where any helps. */
export function allowAdvice(address: string | URL, allow: readonly string[]): string {
  const entry = URL.parse(String(address))?.host ?? '';
  if (mayAsk(address, allow) || !mayAsk(address, [entry])) return '';
  return `, or add ${JSON.stringify(entry)} to allow if you trust it without TLS or in your network`;
}
