import { vi } from 'vitest';
import { exitCodeOf } from '../../src/cli/main.ts';
import type { Finished } from './holdfast-process.ts';

/**
 * A `holdfast` command line in this process, where a process of its own takes most of a second for its start. One at a time: what is
 * written meanwhile is the command's.
 */
export async function holdfastHere(args: readonly string[]): Promise<Finished> {
  const written = { stdout: '', stderr: '' };
  const captured = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += text;
      return true;
    }),
  );
  try {
    const code = await exitCodeOf(args);
    return { code, ...written };
  } finally {
    for (const one of captured) one.mockRestore();
  }
}
