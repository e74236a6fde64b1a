/** A request isn't sent to this address: it isn't one of the public internet, or not one over TLS, and nobody has allowed it. */
export class AddressRefused extends Error {
  readonly code = 'HOLDFAST_ADDRESS_REFUSED';
  override readonly name = 'AddressRefused';
  readonly retryable = false;
}

/** No answer came, or none that can be used. Names the host, and nothing else of the address. */
export class FetchFailed extends Error {
  readonly code = 'HOLDFAST_FETCH_FAILED';
  override readonly name = 'FetchFailed';
  readonly retryable = true;
}
