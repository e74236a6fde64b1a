import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import type { ConnectOptions } from '../connect-folder.ts';
import { connectStore } from '../connect-folder.ts';
import { apiKeyLines } from './api-key-lines.ts';

/** `holdfast keys list`: API keys, without their secrets. */
export async function listApiKeys(
  { folder, env, json }: { json?: boolean } & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { store, close } = await connectStore({ folder, env, onProgress: output.note });
  try {
    const keys = await withProgress(output, 'reading keys', store.keys.list());
    if (json) return output.json({ keys });
    if (keys.length === 0)
      return output.note('no API keys; holdfast keys create NAME --app APP --role run,read makes one');
    for (const line of apiKeyLines(keys)) output.line(line);
  } finally {
    await close();
  }
}
