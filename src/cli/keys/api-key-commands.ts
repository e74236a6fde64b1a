import type { ApiKeyRow, Grant } from '../../contract/keys.ts';
import type { Permission } from '../../contract/lists.ts';
import { newKeyText } from '../../gateway/access/key-text.ts';
import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import type { KeyStore } from '../../store/keys/key-store.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { connected, connectStore, type InFolder } from '../connect-folder.ts';
import { ago, clockTime, tableLines } from '../sessions/shown-values.ts';

export interface CreateApiKeyOptions {
  /** Owner of the key. */
  name: string;
  app: readonly string[];
  role: readonly Permission[];
  /** The only user in whose name it may act. */
  user?: string;
  /** Milliseconds. */
  expires?: number;
}

/** `holdfast keys create NAME`: an API key. Its text is shown this once. */
export async function createApiKey(
  options: InFolder<CreateApiKeyOptions>,
  output = processOutput(),
): Promise<void> {
  await connected(connectStore, options, output, async (store) => {
    const { name, app, role, user, expires } = options;
    const { text, keyId, digest } = newKeyText();
    const grants = [...new Set(app)].map((each) => ({ app: each, roles: [...new Set(role)] }));
    const key = { keyId, digest, name, grants, ...defined({ userId: user, expiresIn: expires }) };
    const made = await withProgress(output, 'storing', store.keys.create(key));
    if (options.json) return output.json({ key: text, ...made });
    output.line(text);
    output.note(
      `the key of ${name} (${grantsText(made.grants)}${user === undefined ? '' : `, as user ${user} only`}; ${statusOf(made)}): it is shown this ` +
        `once. Requests show it as "Authorization: Bearer …"; holdfast keys revoke ${keyId} ends it`,
    );
  });
}

/** `holdfast keys list`: API keys, without their secrets. */
export async function listApiKeys(options: InFolder, output = processOutput()): Promise<void> {
  await connected(connectStore, options, output, async (store) => {
    const keys = await withProgress(output, 'reading keys', store.keys.list());
    if (options.json) return output.json({ keys });
    if (keys.length === 0)
      return output.note('no API keys; holdfast keys create NAME --app APP --role run,read makes one');
    const rows = keys.map((key) => {
      const { keyId, name, grants, userId = '', createdAt, usedAt } = key;
      const used = usedAt === undefined ? 'never' : ago(usedAt);
      return [keyId, name, grantsText(grants), userId, statusOf(key), ago(createdAt), used].map((cell) =>
        visibleExcerpt(cell, 60),
      );
    });
    const columns = ['ID', 'NAME', 'MAY', 'USER', 'STATUS', 'MADE', 'USED'];
    for (const line of tableLines(columns, rows)) output.line(line);
  });
}

/** `shop: run, read; bank: read as ada`. */
function grantsText(grants: readonly Grant[]): string {
  return grants
    .map(({ app, roles, user }) => `${app}: ${roles.join(', ')}${user === undefined ? '' : ` as ${user}`}`)
    .join('; ');
}

/** The state of a key. */
function statusOf({ expiresAt, revokedAt }: ApiKeyRow, now = Date.now()): string {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt === undefined) return 'good';
  return expiresAt <= now ? 'expired' : `good until ${clockTime(expiresAt)}`;
}

/** `holdfast keys revoke`: no gateway takes the key any more, 5 seconds later at most. */
export async function revokeApiKey(
  which: string,
  options: InFolder,
  output = processOutput(),
): Promise<void> {
  await withKey(which, options, output, async (keys, { keyId, name }) => {
    const revoked = await keys.revoke(keyId);
    if (options.json) return output.json(revoked);
    output.line(`${keyId} is revoked`);
    output.note(`no gateway takes the key of ${name} any more, in 5 seconds at the latest`);
  });
}

/** `holdfast keys rotate`: another text of the key, shown this once; the one before stays good for a while. */
export async function rotateApiKey(
  which: string,
  options: InFolder<{ /** Milliseconds. */ grace: number }>,
  output = processOutput(),
): Promise<void> {
  await withKey(which, options, output, async (keys, { keyId, name }) => {
    const { text, digest } = newKeyText(keyId);
    const rotated = await keys.rotate({ keyId, digest, grace: options.grace });
    if (rotated === undefined) throw new CliError(`${keyId} is revoked: make another key`);
    if (options.json) return output.json({ key: text, ...rotated });
    output.line(text);
    const until = clockTime(rotated.oldUntil ?? Date.now());
    output.note(
      `the new text of the key of ${name} is shown this once; the one before is good until ${until}`,
    );
  });
}

async function withKey(
  which: string,
  options: InFolder,
  output: CommandOutput,
  change: (keys: KeyStore, key: ApiKeyRow) => Promise<void>,
): Promise<void> {
  await connected(connectStore, options, output, async ({ keys }) => {
    await change(keys, oneOf(await keys.list(), which));
  });
}

/** By id, or by a name that one key has that is good. */
function oneOf(keys: readonly ApiKeyRow[], which: string): ApiKeyRow {
  const byId = keys.find(({ keyId }) => keyId === which);
  const named = keys.filter((key) => key.name === which && statusOf(key) !== 'revoked');
  const [first, ...others] = byId === undefined ? named : [byId];
  if (first === undefined) {
    // A key that was typed in place of its id is on the screen often enough.
    const shown = which.startsWith('hf_')
      ? 'that is named by its text: give its id'
      : visibleExcerpt(which, 100);
    throw new CliError(`there is no API key ${shown}; see holdfast keys list`);
  }
  if (others.length === 0) return first;
  const ids = named.map(({ keyId }) => keyId).join(', ');
  throw new UsageError(`several keys have this name: give the id of one (${ids})`);
}

interface ListDenialsOptions {
  /** Milliseconds: of so long ago at most. */
  since?: number;
  limit: number;
}

/** `holdfast keys denials`: what gateways have refused, one line for a minute and a kind. */
export async function listDenials(
  options: InFolder<ListDenialsOptions>,
  output = processOutput(),
): Promise<void> {
  await connected(connectStore, options, output, async (store) => {
    const { since, limit } = options;
    const from = defined({ since: since === undefined ? undefined : Date.now() - since });
    const denials = await withProgress(output, 'reading', store.keys.listDenials({ limit, ...from }));
    if (options.json) return output.json({ denials });
    if (denials.length === 0) return output.note('nothing was refused');
    const rows = denials.map(({ count, lastAt, reason, route, who, address, permission = '', app = '' }) =>
      [clockTime(lastAt), String(count), reason, who ?? address ?? '', permission, app, route].map((cell) =>
        visibleExcerpt(cell, 60),
      ),
    );
    const columns = ['LAST', { right: 'TIMES' }, 'WHY', 'WHO', 'NEEDED', 'APP', 'ROUTE'];
    for (const line of tableLines(columns, rows)) output.line(line);
  });
}
