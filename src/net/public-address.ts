import ipaddr from 'ipaddr.js';

/** What is routed in the internet; whatever else IPv6 has is none of it. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** Where clouds hand out the credentials of a machine. */
const METADATA = [ipaddr.parse('169.254.169.254'), ipaddr.parse('fd00:ec2::254')];

/**
 * Whether an address is one of the public internet: none of this machine, of a local network, or of one behind a translation, which
 * an IPv6 address may hide.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(GLOBAL_UNICAST);
}

/** Whether an address is refused even where its host is allowed. */
export function isNeverAllowed(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
  const parsed = ipaddr.process(address);
  if (['linkLocal', 'multicast', 'broadcast'].includes(parsed.range())) return true;
  return METADATA.some((one) => one.toNormalizedString() === parsed.toNormalizedString());
}
