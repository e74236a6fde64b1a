import { isUtf8 } from 'node:buffer';
import { readlink } from 'node:fs/promises';
import { z } from 'zod';
import { excerpt, visibleExcerpt } from '../../protocol/visible-text.ts';
import { kindOf } from '../../schema/kind-of.ts';
import * as option from '../../schema/option-kinds.ts';
import { type OptionReader, type OptionsFor, readGroup } from '../../schema/options.ts';
import type { ApprovalOptions } from '../approval-options.ts';
import type { BaseTool } from '../base-tool.ts';
import type { Context } from '../context.ts';
import { FunctionTool } from '../function-tool.ts';
import type { ConfirmationPredicate, GateOptions } from '../gate-options.ts';
import { Media, ResponseWithMedia } from '../media.ts';
import { assertRipgrep, filesFound, linesFound } from './file-search.ts';
import { lostFiles, Workspace } from './workspace.ts';
import {
  fileRefused,
  inFolderOf,
  kindOfEntry,
  MOST_FILE_BYTES,
  readBeneath,
  writeBeneath,
} from './workspace-files.ts';

export interface FileToolsOptions {
  /** Has the files. Give it to the tool of commands, too, which then works on the same ones. */
  workspace: Workspace;
  /**
   * Whether calls of `write_file` and `edit_file` wait for a person's approval: all, or those for which a predicate says so.
   *
   * @default false
   */
  requireConfirmation?: boolean | ConfirmationPredicate<{ path: string }>;
  /** The people who may decide, and the rules of their decision. */
  approval?: ApprovalOptions;
  /**
   * Leaves `write_file` and `edit_file` out.
   *
   * @default false
   */
  readOnly?: boolean;
}

const FILE_TOOLS = {
  workspace: option.required(option.custom(workspaceOf)),
  requireConfirmation: option.unchecked(),
  approval: option.unchecked(),
  readOnly: option.flag(false),
} satisfies OptionsFor<FileToolsOptions>;

function workspaceOf(given: unknown, read: OptionReader, name: string): Workspace {
  return given instanceof Workspace ? given : read.fail(name, `expected a Workspace, got ${kindOf(given)}`);
}

const MOST_CHARACTERS = 64_000;
const LONGEST_LINE = 2_000;
const MOST_ENTRIES = 500;
/** Ends of names of files that models see as media. */
const MEDIA = ['.png', '.jpg', '.jpeg', '.webp', '.pdf'];

const path = z.string().min(1).describe('From the root of the workspace, such as src/a.ts');
const folder = z.string().default('.').describe('A folder; the root of the workspace by default.');
const flag = z.boolean().default(false);

/**
 * Tools by which a model reads, writes and searches files of a {@link Workspace}: `read_file`, `write_file`, `edit_file`, `list_files`,
 * `glob` and `grep`. None leaves the workspace: they follow no links.
 *
 * @throws DefinitionError naming the option, or the package `@vscode/ripgrep` where neither that nor `rg` is there.
 * @example fileTools({ workspace: new Workspace(), requireConfirmation: ({ path }) => path.startsWith('deploy/') })
 */
export function fileTools(options: FileToolsOptions): BaseTool[] {
  const { workspace, readOnly, ...gate } = readGroup(FILE_TOOLS, { owner: 'fileTools', options });
  assertRipgrep('fileTools');
  const tools = FILES.filter(({ writes }) => !(readOnly && writes));
  return tools.map(({ writes, name, description, parameters, run }) => {
    const execute = (args: unknown, context: Context) =>
      workspace.use(context, async (root, use) => {
        const result = await run(root, args, context.abortSignal);
        const told = lostFiles(use);
        if (!(result instanceof ResponseWithMedia)) return { ...result, ...told };
        return new ResponseWithMedia({ ...result.response, ...told }, result.media);
      });
    // Both tools that write have a path.
    const own = writes ? (gate as GateOptions) : { isReadOnly: true };
    const about = { name, description, parameters, isConcurrencySafe: false };
    return new FunctionTool<z.ZodObject>({ ...about, ...own, execute });
  });
}

type Result = Record<string, unknown> | ResponseWithMedia;

interface FileTool {
  writes: boolean;
  name: string;
  description: string;
  parameters: z.ZodObject;
  run: (root: string, args: unknown, signal: AbortSignal) => Promise<Result>;
}

function fileTool<Parameters extends z.ZodObject>(
  about: { name: string; description: string; writes?: boolean },
  parameters: Parameters,
  run: (root: string, args: z.output<Parameters>, signal: AbortSignal) => Promise<Result>,
): FileTool {
  return { writes: false, ...about, parameters, run: run as FileTool['run'] };
}

const FILES: readonly FileTool[] = [
  fileTool(
    { name: 'read_file', description: 'Reads lines of a text file; an image or a PDF as it is.' },
    z.object({
      path,
      offset: z.number().int().min(1).default(1).describe('The first line, from 1.'),
      limit: z.number().int().min(1).max(5_000).default(2_000).describe('Lines at most.'),
      numbered: z.boolean().default(true).describe('Whether each line begins with its number and a tab.'),
    }),
    async (root, { path, offset, limit, numbered }) => {
      const bytes = await readBeneath(root, path);
      if (bytes.length > 0 && MEDIA.some((end) => path.toLowerCase().endsWith(end))) {
        const mimeType = 'application/octet-stream';
        return new ResponseWithMedia({ path }, [new Media({ mimeType, data: bytes, name: path })]);
      }
      if (isBinary(bytes)) return { path, binary: true, bytes: bytes.length };
      const lines = linesOf(bytes.toString());
      const shown: string[] = [];
      let room = MOST_CHARACTERS;
      for (const [index, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
        const text = `${numbered ? `${offset + index}\t` : ''}${excerpt(line, LONGEST_LINE)}`;
        room -= text.length + 1;
        if (room < 0) break;
        shown.push(text);
      }
      const next = offset + shown.length;
      return { path, text: shown.join('\n'), lines: lines.length, ...(next <= lines.length && { next }) };
    },
  ),
  fileTool(
    { name: 'write_file', description: 'Makes a text file, or replaces all of one.', writes: true },
    z.object({ path, text: z.string().max(MOST_FILE_BYTES) }),
    async (root, { path, text }) => {
      await writeBeneath(root, path, text);
      return { path, bytes: Buffer.byteLength(text) };
    },
  ),
  fileTool(
    { name: 'edit_file', description: 'Replaces a text in a file by another one.', writes: true },
    z.object({
      path,
      oldText: z
        .string()
        .min(1)
        .describe('As it stands in the file, blanks and line ends too, and only once.'),
      newText: z.string().max(MOST_FILE_BYTES),
      all: flag.describe('Whether every place is replaced, where oldText stands more than once.'),
    }),
    async (root, { path, oldText, newText, all }) => {
      const bytes = await readBeneath(root, path);
      if (isBinary(bytes)) throw fileRefused(path, 'it is no text, and is not edited');
      const text = bytes.toString();
      const { count, lines } = placesOf(text, oldText);
      if (count === 0) throw fileRefused(path, `oldText is not in it.${nearTo(text, oldText)}`);
      if (count > 1 && !all) {
        const problem = `oldText stands in it ${count} times, on lines ${[...lines].join(', ')}`;
        throw fileRefused(path, `${problem}: give more of the text around one of them, or all: true`);
      }
      if (text.length + count * (newText.length - oldText.length) > MOST_FILE_BYTES) {
        throw fileRefused(path, `it would have more than ${MOST_FILE_BYTES} bytes`);
      }
      await writeBeneath(
        root,
        path,
        text.replaceAll(oldText, () => newText),
      );
      return { path, replaced: count };
    },
  ),
  fileTool(
    { name: 'list_files', description: 'Lists a folder: its folders, files with their bytes, and links.' },
    z.object({ path: folder }),
    async (root, { path }) => {
      const entries = await inFolderOf(root, path, async (parent, name) => {
        const held = await parent.folder(name);
        try {
          const found = (await held.entries(path)).slice(0, MOST_ENTRIES + 1);
          return await Promise.all(
            found.map(async ({ name, stat }) => {
              const kind = kindOfEntry(stat);
              if (kind === 'folder') return `${name}/`;
              if (kind === 'link') return `${name} -> ${visibleExcerpt(await readlink(held.at(name)), 200)}`;
              return `${name} (${kind === 'file' ? `${stat.size} bytes` : kind})`;
            }),
          );
        } finally {
          await held.close();
        }
      });
      return bounded('entries', entries, MOST_ENTRIES);
    },
  ),
  fileTool(
    {
      name: 'glob',
      description: 'Finds files by a pattern of their names, without those that .gitignore names.',
    },
    z.object({ pattern: z.string().min(1).max(1_000).describe('Such as **/*.ts'), path: folder }),
    async (root, { pattern, path }, signal) => {
      const found = await filesFound({ root, path, signal }, pattern, MOST_ENTRIES + 1);
      return bounded('files', found, MOST_ENTRIES);
    },
  ),
  fileTool(
    { name: 'grep', description: 'Finds lines of files by a regular expression, or a text.' },
    z.object({
      pattern: z.string().min(1).max(1_000),
      path: folder,
      glob: z.string().max(1_000).optional().describe('Only files with such names, as *.ts'),
      literal: flag.describe('Whether pattern is a text, and no regular expression.'),
      ignoreCase: flag,
      context: z.number().int().min(0).max(10).default(0).describe('Lines before and after each match.'),
    }),
    async (root, { path, ...search }, signal) => {
      const { lines, more } = await linesFound({ root, path, signal }, search);
      return { lines, ...(more && { more: 'there are more matches: search for less, or in fewer files' }) };
    },
  ),
];

function bounded(name: string, found: readonly string[], most: number): Record<string, unknown> {
  const more = found.length > most && { more: `there are more: only the first ${most} are shown` };
  return { [name]: found.slice(0, most), ...more };
}

function isBinary(bytes: Buffer): boolean {
  return bytes.includes(0) || !isUtf8(bytes);
}

/** Without the empty one after the last line end. */
function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** How often a text stands in another one, and on which lines, the first ten. */
function placesOf(text: string, part: string): { count: number; lines: Set<number> } {
  const lines = new Set<number>();
  let count = 0;
  let line = 1;
  let end = -1;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) {
    count += 1;
    if (lines.size === 10) continue;
    for (
      let next = text.indexOf('\n', end + 1);
      next !== -1 && next < at;
      next = text.indexOf('\n', end + 1)
    ) {
      line += 1;
      end = next;
    }
    lines.add(line);
  }
  return { count, lines };
}

/** The place that may be meant: a line with the same words as the first one, whatever its blanks. */
function nearTo(text: string, oldText: string): string {
  if (text.includes('\r\n') && !oldText.includes('\r\n') && oldText.includes('\n')) {
    return ' The lines of the file end with \\r\\n.';
  }
  const first = oldText
    .split('\n')
    .find((line) => line.trim() !== '')
    ?.trim();
  const lines = linesOf(text);
  const at = lines.findIndex((line) => line.trim() === first);
  if (first === undefined || at === -1)
    return ' No line of the file is as its first one: read the file again.';
  const shown = lines.slice(at, at + 5).map((line) => excerpt(line, 200));
  return ` Line ${at + 1} is like its first one; there the file has ${JSON.stringify(shown.join('\n'))}`;
}
