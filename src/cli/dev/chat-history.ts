import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What was typed in a folder's chats, newest first: `chat-history`, readable by its user only. */
export function chatHistory(folder: string): { lines: string[]; save(lines: string[]): void } {
  const path = join(folder, 'chat-history');
  return {
    lines: read(path),
    save(lines) {
      writeFileSync(path, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 });
      // The mode above counts for a new file only.
      chmodSync(path, 0o600);
    },
  };
}

function read(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
