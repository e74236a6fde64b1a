import { statSync } from 'node:fs';

/** Whether something stands in a file: between its making and the first write to it there is nothing. */
export function isWritten(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
