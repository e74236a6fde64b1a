import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { excerpt, visibleExcerpt } from '../../protocol/visible-text.ts';
import { assertInstalled } from '../../schema/installed-package.ts';
import { ToolError } from '../tool-error.ts';
import {
  fileRefused,
  inFolderOf,
  kindOfEntry,
  MOST_FILE_BYTES,
  namesIn,
  readBeneath,
} from './workspace-files.ts';

const PACKAGE = '@vscode/ripgrep';
const MOST_MATCHES = 200;
const MOST_OUTPUT = 8 * 1024 * 1024;
const LONGEST_LINE = 500;
/** Milliseconds. */
const SEARCH_TIME = 10_000;

/** Files of the worker's user, and those above the root, say nothing here; names that begin with a dot are names as others. */
const FIXED =
  '--no-config --no-follow --hidden --no-ignore-global --no-ignore-parent --no-require-git --no-messages'
    .concat(
      ` --color=never --sort=path --null --encoding=none --max-filesize=${MOST_FILE_BYTES} --glob=!.git/`,
    )
    .split(' ');

/** @throws DefinitionError where neither the package nor a program `rg` is there. */
export function assertRipgrep(owner: string): void {
  try {
    assertInstalled(owner, PACKAGE);
  } catch (error) {
    if (spawnSync('rg', ['--version']).error !== undefined) throw error;
  }
}

/** The folder to search, below the root. */
interface Place {
  root: string;
  path: string;
  signal: AbortSignal;
}

/** @returns the output, without what is beyond its bounds. */
async function ripgrep(
  { root, path, signal }: Place,
  args: readonly string[],
): Promise<{ output: string; isCut: boolean }> {
  const stat = await inFolderOf(root, path, (folder, name) => folder.stat(name));
  if (stat === undefined) throw fileRefused(path, 'there is no such file or folder');
  if (!stat.isDirectory() && !stat.isFile()) throw fileRefused(path, `it is a ${kindOfEntry(stat)}`);
  const program = await import('@vscode/ripgrep').then(({ rgPath }) => rgPath).catch(() => 'rg');
  const where = ['.', ...namesIn(path, root)].join('/');
  const child = spawn(program, [...FIXED, ...args, '--', where], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: SEARCH_TIME,
    killSignal: 'SIGKILL',
    signal,
  });
  const closed = once(child, 'close').catch((cause) => {
    if (cause.code !== 'ENOENT') throw cause;
    throw new ToolError(`searches need the package ${PACKAGE}: npm install ${PACKAGE}`, { retryable: false });
  });
  const [output, problem, [code, killedBy]] = await Promise.all([
    collected(child.stdout, MOST_OUTPUT, () => child.kill('SIGKILL')),
    collected(child.stderr, 4_096),
    closed,
  ]);
  const isCut = output.length >= MOST_OUTPUT;
  if (killedBy !== null && !isCut) {
    throw new ToolError('the search took too long: search in fewer files', { retryable: false });
  }
  if (code === 2 && output === '' && problem !== '') {
    throw new ToolError(`ripgrep: ${visibleExcerpt(problem, 500)}`, { retryable: false });
  }
  return { output, isCut };
}

async function collected(stream: AsyncIterable<Buffer>, most: number, onFull?: () => void): Promise<string> {
  const read: Buffer[] = [];
  let size = 0;
  for await (const block of stream) {
    if (size >= most) continue;
    read.push(block.subarray(0, most - size));
    size += block.length;
    if (size >= most) onFull?.();
  }
  return Buffer.concat(read).toString();
}

/**
 * Paths of files whose names match, `most` at most. A link that was put in the way of ripgrep shows nothing: each path is looked up again
 * from the root.
 *
 * @throws ToolError
 */
export async function filesFound(place: Place, pattern: string, most: number): Promise<string[]> {
  const { output } = await ripgrep(place, ['--files', `--glob=${pattern}`]);
  const found: string[] = [];
  for (const listed of output.split('\0')) {
    if (found.length === most) break;
    const path = listed.replace('./', '');
    const stat = await inFolderOf(place.root, path, (folder, name) => folder.stat(name)).catch(
      () => undefined,
    );
    if (stat?.isFile()) found.push(path);
  }
  return found;
}

/**
 * Matches as `path:line:text`, lines around them as `path-line-text`. Their text is read again from the root, and only where it is what
 * ripgrep has seen: it may have been led elsewhere.
 *
 * @param search `context`: lines before and after each match.
 * @throws ToolError
 */
export async function linesFound(
  place: Place,
  search: {
    pattern: string;
    glob?: string | undefined;
    literal: boolean;
    ignoreCase: boolean;
    context: number;
  },
): Promise<{ lines: string[]; more: boolean }> {
  const { pattern, glob, literal, ignoreCase, context } = search;
  const { output, isCut } = await ripgrep(place, [
    ...['--no-heading', '--with-filename', '--line-number'],
    ...(literal ? ['--fixed-strings'] : []),
    ...(ignoreCase ? ['--ignore-case'] : []),
    ...(glob === undefined ? [] : [`--glob=${glob}`]),
    `--regexp=${pattern}`,
  ]);
  const rows = output.split('\n');
  rows.pop();
  const matches = Map.groupBy(rows.slice(0, MOST_MATCHES).map(matchIn), ({ path }) => path);
  const lines: string[] = [];
  for (const [path, found] of matches) {
    const bytes = await readBeneath(place.root, path).catch(() => undefined);
    const all = bytes?.toString().split('\n') ?? [];
    const matched = new Set(found.filter(({ line, text }) => all[line - 1] === text).map(({ line }) => line));
    const shown = new Set<number>();
    for (const line of matched) for (let n = line - context; n <= line + context; n += 1) shown.add(n);
    for (const line of [...shown].sort((one, other) => one - other)) {
      const text = all[line - 1];
      const mark = matched.has(line) ? ':' : '-';
      if (text !== undefined) lines.push(`${path}${mark}${line}${mark}${excerpt(text, LONGEST_LINE)}`);
    }
  }
  return { lines, more: isCut || rows.length > MOST_MATCHES };
}

function matchIn(row: string): { path: string; line: number; text: string } {
  const path = row.slice(0, row.indexOf('\0'));
  const numbered = row.slice(path.length + 1);
  const [line = ''] = numbered.split(':', 1);
  return { path: path.replace('./', ''), line: Number(line), text: numbered.slice(line.length + 1) };
}
