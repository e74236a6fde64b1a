import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { thrownMessage } from '../../schema/thrown-message.ts';

/**
 * What was typed in a folder's chats, newest first: `chat-history`, readable by its user only.
 *
 * @param onProblem is told, once, that it can't be written: a full disk ends no chat.
 */
export function chatHistory(
  folder: string,
  onProblem: (line: string) => void,
): { lines: string[]; save(lines: string[]): void } {
  const path = join(folder, 'chat-history');
  let isTold = false;
  return {
    lines: read(path),
    save(lines) {
      try {
        writeFileSync(path, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 });
        // The mode above counts for a new file only.
        chmodSync(path, 0o600);
      } catch (error) {
        if (!isTold) onProblem(`what is typed can't be kept in ${path}: ${thrownMessage(error)}`);
        isTold = true;
      }
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
