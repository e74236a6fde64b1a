import { isIP } from 'node:net';
import { HoldfastError } from '../contract/error.ts';
import { isNeverAllowed, isPublicAddress } from './public-address.ts';

/** Ends of names that lead nowhere public. */
const LOCAL_NAMES = /(?:^|\.)(?:localhost|local|internal|intranet|home\.arpa|lan|corp|test|invalid)$/;

/** Where a request goes. */
export interface Destination {
  url: URL;
  /** As it is resolved; an address without its brackets. */
  host: string;
  /** The app allows this host, at any address. */
  allowed: boolean;
}

/**
 * Checks an address as far as that goes without resolving it.
 *
 * @param allow hosts, `name` or `name:port`, that may be asked without TLS, at this port, and wherever they are.
 * @throws HOLDFAST_ADDRESS_REFUSED
 */
export function checkedUrl(given: string | URL, allow: readonly string[] = []): Destination {
  const url = parsed(given);
  if (url.username !== '' || url.password !== '') {
    throw new HoldfastError('HOLDFAST_ADDRESS_REFUSED', 'the URL names a user: send credentials in a header');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (host === '') throw new HoldfastError('HOLDFAST_ADDRESS_REFUSED', 'the URL names no host');
  const allowed = isAllowed(url, host, allow);
  if (!allowed) {
    if (url.protocol !== 'https:')
      throw new HoldfastError('HOLDFAST_ADDRESS_REFUSED', `${host} is asked over https only`);
    if (url.port !== '')
      throw new HoldfastError('HOLDFAST_ADDRESS_REFUSED', `${host} is asked at port 443 only`);
    const isName = isIP(host) === 0;
    if (isName && (LOCAL_NAMES.test(host) || !host.includes('.'))) {
      throw new HoldfastError('HOLDFAST_ADDRESS_REFUSED', `${host} is no name of the public internet`);
    }
  }
  if (isIP(host) !== 0) checkAddresses(host, [host], allowed);
  return { url, host, allowed };
}

/** @throws HOLDFAST_ADDRESS_REFUSED where one of them, for there may be several, leads where no request may go. */
export function checkAddresses(host: string, addresses: readonly string[], allowed: boolean): void {
  if (addresses.length === 0) throw new HoldfastError('HOLDFAST_ADDRESS_REFUSED', `${host} has no address`);
  for (const address of addresses) {
    const isFine = allowed ? !isNeverAllowed(address) : isPublicAddress(address);
    if (!isFine)
      throw new HoldfastError(
        'HOLDFAST_ADDRESS_REFUSED',
        `${host} leads to an address that is not of the public internet`,
      );
  }
}

function parsed(given: string | URL): URL {
  const url = URL.parse(String(given));
  if (url === null) throw new HoldfastError('HOLDFAST_ADDRESS_REFUSED', 'expected an absolute URL');
  if (url.protocol === 'https:' || url.protocol === 'http:') return url;
  throw new HoldfastError('HOLDFAST_ADDRESS_REFUSED', 'expected a URL that begins with https://');
}

function isAllowed({ port, protocol }: URL, host: string, allow: readonly string[]): boolean {
  const usual = protocol === 'https:' ? '443' : '80';
  const names = isIP(host) === 6 ? [`[${host}]`] : [host];
  if (port === '' && isIP(host) === 6) names.push(host);
  const wanted = names.flatMap((name) => [
    `${name}:${port === '' ? usual : port}`,
    ...(port === '' ? [name] : []),
  ]);
  return allow.some((each) => wanted.includes(each.toLowerCase()));
}
