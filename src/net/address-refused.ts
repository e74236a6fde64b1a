import { codedError } from '../contract/error.ts';
/** A request isn't sent to this address: it isn't one of the public internet, or not one over TLS, and nobody has allowed it. */
export class AddressRefused extends codedError('HOLDFAST_ADDRESS_REFUSED') {}

/** No answer came, or none that can be used. Names the host, and nothing else of the address. */
export class FetchFailed extends codedError('HOLDFAST_FETCH_FAILED') {}
