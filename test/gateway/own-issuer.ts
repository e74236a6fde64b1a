import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';

export const AUDIENCE = 'holdfast';

/** An OpenID Connect provider of this machine, as far as those who check its tokens see it. */
export interface OwnIssuer {
  url: string;
  jwks: { keys: JWK[] };
  /** How often each path was asked for. */
  asked: string[];
  /** What it answers in place of what it should. */
  answers: Record<string, { status?: number; body?: string; location?: string }>;
  privateKey: CryptoKey;
  token(
    claims?: JWTPayload,
    header?: Partial<JWTHeaderParameters>,
    key?: CryptoKey | Uint8Array,
  ): Promise<string>;
  close(): Promise<void>;
}

export async function openIssuer(): Promise<OwnIssuer> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] };
  const asked: string[] = [];
  const answers: OwnIssuer['answers'] = {};
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const whole: Record<string, object> = {
      '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/keys` },
      '/keys': jwks,
    };
    const { status, body, location } = answers[path] ?? {};
    const headers = { 'content-type': 'application/json', ...(location === undefined ? {} : { location }) };
    response.writeHead(status ?? (path in whole ? 200 : 404), headers);
    response.end(body ?? JSON.stringify(whole[path] ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    jwks,
    asked,
    answers,
    privateKey,
    token: (claims = {}, header = {}, key = privateKey) => {
      const now = Math.floor(Date.now() / 1_000);
      const said = {
        iss: url,
        aud: AUDIENCE,
        sub: 'u-1',
        iat: now,
        exp: now + 300,
        email: 'mira@example.com',
        ...claims,
      };
      return new SignJWT(said)
        .setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'JWT', ...header })
        .sign(key);
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
