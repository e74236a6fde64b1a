import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Where downloads and builds are kept between runs: `HOLDFAST_CACHE`, else the platform's cache folder
 * (`$XDG_CACHE_HOME/holdfast` or `~/.cache/holdfast`, `~/Library/Caches/holdfast`, `%LOCALAPPDATA%\holdfast`).
 */
export function defaultCacheFolder(env: NodeJS.ProcessEnv): string {
  if (env.HOLDFAST_CACHE) return env.HOLDFAST_CACHE;
  const home = env.HOME || homedir();
  switch (process.platform) {
    case 'darwin':
      return join(home, 'Library', 'Caches', 'holdfast');
    case 'win32':
      return join(env.LOCALAPPDATA || join(homedir(), 'AppData', 'Local'), 'holdfast');
    default:
      return join(env.XDG_CACHE_HOME || join(home, '.cache'), 'holdfast');
  }
}
