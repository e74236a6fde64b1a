import { readdir, readFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { LlmAgent, tool } from 'holdfast';
import { calls, type GeminiScript, text } from 'holdfast/testing';
import { z } from 'zod';

const root = resolve(import.meta.dirname, '../..');

/** The model chooses the path: it must not lead out of the project. */
function insideProject(path: string): string {
  const full = resolve(root, path);
  if (full !== root && !full.startsWith(root + sep)) throw new Error(`${path} lies outside of the project`);
  return full;
}

const listFiles = tool({
  name: 'list_files',
  description: 'Lists the TypeScript files of a folder of this project.',
  parameters: z.object({ folder: z.string().describe('path from the root of the project') }),
  summary: ({ folder }) => String(folder),
  execute: async ({ folder }) => {
    const entries = await readdir(insideProject(folder), { recursive: true });
    return {
      files: entries.filter((name) => name.endsWith('.ts')).map((name) => relative('.', join(folder, name))),
    };
  },
});

const countLines = tool({
  name: 'count_lines',
  description: 'Counts the lines of one file of this project.',
  parameters: z.object({ file: z.string().describe('path from the root of the project') }),
  summary: ({ file }) => String(file),
  execute: async ({ file }) => {
    const content = await readFile(insideProject(file), 'utf8');
    return { file, lines: content.split('\n').length - 1 };
  },
});

export const rootAgent = new LlmAgent({
  name: 'surveyor',
  model: 'gemini-2.5-flash',
  description: 'Answers questions about the size of this project.',
  instruction: 'Answer questions about this project with the tools. Count files in parallel. Be brief.',
  tools: [listFiles, countLines],
});

/** What the stand-in says while there is no key: the calls are scripted, the tools and their numbers are real. */
export const geminiScript: GeminiScript = (_request, { functionResponses, userText }) => {
  const first = functionResponses[0];
  if (first === undefined) {
    return calls([
      {
        name: 'list_files',
        args: { folder: /\b(src|workflows|activities|worker)\b/.exec(userText)?.[0] ?? 'workflows' },
      },
    ]);
  }
  if (first.name === 'list_files') {
    const { files = [] } = (first.response ?? {}) as { files?: string[] };
    if (files.length === 0) return text('There are no TypeScript files in that folder.');
    return calls(files.slice(0, 20).map((file) => ({ name: 'count_lines', args: { file } })));
  }
  const counted = functionResponses.map(
    ({ response }) => (response ?? {}) as { file?: string; lines?: number },
  );
  const longest = counted.reduce((a, b) => ((b.lines ?? 0) > (a.lines ?? 0) ? b : a));
  const total = counted.reduce((sum, { lines = 0 }) => sum + lines, 0);
  return text(
    `${counted.length} files hold ${total} lines; the longest is ${longest.file} with ${longest.lines}.`,
  );
};
