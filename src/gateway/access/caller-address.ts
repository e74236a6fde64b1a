import { isIP } from 'node:net';
import type { AccessRequest } from './access.ts';

/**
 * Where a request comes from.
 *
 * @param proxies how many of the operator's own stand in front, each of which adds the address that it sees to `X-Forwarded-For`. Any
 *   client may have written the addresses before theirs.
 * @returns an address in one form; undefined where it came by no socket.
 */
export function callerAddress(
  { headers, remoteAddress }: Pick<AccessRequest, 'headers' | 'remoteAddress'>,
  proxies: number,
): string | undefined {
  const told = proxies === 0 ? [] : (headers.get('x-forwarded-for') ?? '').split(',');
  const given = told.at(-proxies)?.trim();
  return (proxies > 0 ? plain(given) : undefined) ?? plain(remoteAddress);
}

/**
 * Whether a request comes from this machine: over loopback, or by no network at all. A proxy of this machine is one of its programs.
 */
export function isFromHere({
  localPort,
  remoteAddress,
}: Pick<AccessRequest, 'localPort' | 'remoteAddress'>): boolean {
  if (remoteAddress === undefined) return localPort === undefined;
  const address = plain(remoteAddress) ?? '';
  return address === '::1' || address.startsWith('127.');
}

/** A network that one caller has many addresses of counts as one. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const [before, after] = [(head || '0').split(':'), tail === undefined ? [] : tail.split(':')];
  const missing = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return `${[...before, ...(tail === undefined ? [] : missing), ...after].slice(0, 4).join(':')}::/64`;
}

function plain(address: string | undefined): string | undefined {
  const bare = address
    ?.replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/s, '')
    .toLowerCase();
  const mapped = bare?.replace(/^::ffff:(?=\d+\.)/, '');
  return mapped !== undefined && isIP(mapped) !== 0 ? mapped : undefined;
}
