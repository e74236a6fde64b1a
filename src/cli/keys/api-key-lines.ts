import type { ApiKeyRow, Grant } from '../../contract/keys.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { ago, clockTime, tableLines } from '../sessions/shown-values.ts';

/** `shop: run, read; bank: read as ada`. */
export function grantsText(grants: readonly Grant[]): string {
  return grants
    .map(({ app, roles, user }) => `${app}: ${roles.join(', ')}${user === undefined ? '' : ` as ${user}`}`)
    .join('; ');
}

/** The state of a key. */
export function statusOf({ expiresAt, revokedAt }: ApiKeyRow, now = Date.now()): string {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt === undefined) return 'good';
  return expiresAt <= now ? 'expired' : `good until ${clockTime(expiresAt)}`;
}

/** A table of keys. */
export function apiKeyLines(keys: readonly ApiKeyRow[]): string[] {
  const titles = ['ID', 'NAME', 'MAY', 'USER', 'STATUS', 'MADE', 'USED'];
  const rows = keys.map((key) => {
    const { keyId, name, grants, userId = '', createdAt, usedAt } = key;
    const used = usedAt === undefined ? 'never' : ago(usedAt);
    return [keyId, name, grantsText(grants), userId, statusOf(key), ago(createdAt), used].map((cell) =>
      visibleExcerpt(cell, 60),
    );
  });
  return tableLines(
    titles.map((title) => ({ title })),
    rows,
  );
}
