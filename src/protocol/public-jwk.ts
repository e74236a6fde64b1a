/** Public half of a signing key, as RFC 7517 writes it: Ed25519 (`kty: 'OKP'`), or P-256 (`kty: 'EC'`). */
export interface PublicJwk {
  kty: string;
  crv: string;
  x: string;
  y?: string;
  /** Named by attestations. Defaults to the key's thumbprint (RFC 7638). */
  kid?: string;
  alg?: string;
  use?: string;
}
