import type { ApiKeyRow } from '../../contract/keys.ts';
import { newKeyText } from '../../gateway/access/key-text.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import type { KeyStore } from '../../store/keys/key-store.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput } from '../command-output.ts';
import type { ConnectOptions } from '../connect-folder.ts';
import { connectStore } from '../connect-folder.ts';
import { clockTime } from '../sessions/shown-values.ts';
import { statusOf } from './api-key-lines.ts';

type Options = { json?: boolean } & Pick<ConnectOptions, 'folder' | 'env'>;

/** `holdfast keys revoke`: no gateway takes the key any more, 5 seconds later at most. */
export async function revokeApiKey(
  which: string,
  options: Options,
  output: CommandOutput = processOutput(),
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
  options: Options & { /** Milliseconds. */ grace: number },
  output: CommandOutput = processOutput(),
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
  { folder, env }: Options,
  output: CommandOutput,
  change: (keys: KeyStore, key: ApiKeyRow) => Promise<void>,
): Promise<void> {
  const { store, close } = await connectStore({ folder, env, onProgress: output.note });
  try {
    await change(store.keys, oneOf(await store.keys.list(), which));
  } finally {
    await close();
  }
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
