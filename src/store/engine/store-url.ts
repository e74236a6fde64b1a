import pg from 'pg';
import { InvalidStoreUrl } from '../store-errors.ts';

/**
 * Never echoes the URL, which may hold a password.
 *
 * @param option that it was given as
 * @throws InvalidStoreUrl
 */
export function checkedUrl(option: 'url' | 'listen', url: string): string {
  const scheme = /^(postgres|postgresql):\/\//.test(url);
  if (scheme && parses(url)) return url;
  throw new InvalidStoreUrl(
    `${option}: ${scheme ? 'this postgres:// URL is malformed (special characters of a password are percent-encoded)' : 'a store’s URL starts with postgres:// or postgresql://'}; ` +
      'use postgres://user:password@host:5432/database',
  );
}

function parses(connectionString: string): boolean {
  try {
    new pg.Client({ connectionString });
    return true;
  } catch {
    // The parser's own error carries the URL.
    return false;
  }
}
