import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { HoldfastError, hasCode } from '../contract/error.ts';

/** The routed part of the internet; other parts of IPv6 don't belong to it. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Where clouds hand out the credentials of a machine, and its configuration: of most, Azure, Alibaba, Oracle; of AWS and Google by IPv6. */
const METADATA = new Set(
  ['169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'].map(
    (address) => ipaddr.parse(address).toNormalizedString(),
  ),
);
/** Of AWS alone: its metadata, and the credentials of pods. */
const AWS_LOCAL = ipaddr.IPv6.parseCIDR('fd00:ec2::/32');
const LOCAL_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b:1::/48');
/** Ranges whose addresses stand for one of IPv4, which a router on the way has them lead to. */
const TRANSLATED: readonly string[] = ['ipv4Mapped', 'rfc6052', 'rfc6145', '6to4', 'teredo'];
const NEVER: readonly string[] = ['linkLocal', 'multicast', 'broadcast'];

/**
 * Whether an address is one of the public internet. Addresses of this machine, of a local network and of a cloud's own services are
 * not, also where an IPv6 address hides one by translation.
 */
export function isPublicAddress(address: string): boolean {
  if (isNeverAllowed(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed.kind() === 'ipv4') return true;
  const whole = parsed as ipaddr.IPv6;
  if (!whole.match(GLOBAL_UNICAST)) return false;
  // Addresses of ISATAP may have any prefix, a global one too.
  return !embedsIpv4(whole) || hiddenIn(whole).every((each) => each.range() === 'unicast');
}

/** Whether an address is refused even where its host is allowed. */
export function isNeverAllowed(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
  const parsed = ipaddr.parse(address);
  if (NEVER.includes(parsed.range()) || METADATA.has(parsed.toNormalizedString())) return true;
  if (parsed.kind() === 'ipv4') return false;
  const whole = parsed as ipaddr.IPv6;
  if (whole.match(AWS_LOCAL)) return true;
  const hidden = hiddenIn(whole);
  if (hidden.some((each) => METADATA.has(each.toNormalizedString()))) return true;
  return embedsIpv4(whole) && hidden.some((each) => NEVER.includes(each.range()));
}

/** Whether it is of a form whose addresses lead to one of IPv4: those above, IPv4-compatible ones, and those of ISATAP (RFC 5214). */
function embedsIpv4(address: ipaddr.IPv6): boolean {
  if (TRANSLATED.includes(address.range())) return true;
  const bytes = address.toByteArray();
  if (bytes.slice(0, 12).every((byte) => byte === 0)) return true;
  const [first = 0, ...others] = bytes.slice(8, 12);
  // Two bits say how unique it is, and whether it is a group's.
  return (first & 0xfc) === 0 && others.join() === '0,94,254';
}

/** Addresses of IPv4 that one of IPv6 may stand for: RFC 4291, 5214, 6052, 6145, 3056 and 4380. */
function hiddenIn(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray();
  const at = (...places: readonly number[]) => new ipaddr.IPv4(places.map((place) => bytes[place] ?? 0));
  const hidden = [at(12, 13, 14, 15)];
  if (address.range() === '6to4') hidden.push(at(2, 3, 4, 5));
  if (address.range() === 'teredo') {
    hidden.push(at(4, 5, 6, 7), new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff)));
  }
  // Each network divides this prefix as it likes.
  if (address.match(LOCAL_NAT64)) hidden.push(at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12));
  return hidden;
}

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

/** Whether a request may go to an address, as far as that is known without resolving it. */
export function mayAsk(given: string | URL, allow: readonly string[] = []): boolean {
  try {
    checkedUrl(given, allow);
    return true;
  } catch (error) {
    if (hasCode(error, 'HOLDFAST_ADDRESS_REFUSED')) return false;
    throw error;
  }
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
