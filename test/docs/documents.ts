import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Path of the project, with a slash at its end. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Snippet {
  /** From the snippet's first line where that is a comment with a file's name: `// agents.ts`. */
  name: string | undefined;
  /** Of its first line, from 1. */
  line: number;
  code: string;
}

/** Documents that readers get, as paths from the project's root. */
export function documents(): string[] {
  const pages = ['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(root + folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  );
  return [
    'README.md',
    'SECURITY.md',
    'ARCHITECTURE.md',
    'AGENTS.md',
    'CHANGELOG.md',
    'bench/README.md',
    ...pages,
  ].filter((path) => existsSync(root + path));
}

export function textOf(path: string): string {
  return readFileSync(root + path, 'utf8');
}

/** The TypeScript snippets of a document. */
export function snippetsOf(markdown: string): Snippet[] {
  return fences(markdown)
    .filter(({ language }) => language === 'ts')
    .map(({ line, code }) => ({
      name: /^\/\/ ([\w-]+\.ts)$/m.exec(code.split('\n', 1)[0] ?? '')?.[1],
      line,
      code,
    }));
}

/** The document without what stands in fences. */
export function proseOf(markdown: string): string {
  const lines = markdown.split('\n');
  for (const { line, code } of fences(markdown)) {
    lines.fill('', line - 2, line + code.split('\n').length);
  }
  return lines.join('\n');
}

export function headingsOf(markdown: string): string[] {
  return [...proseOf(markdown).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => heading ?? '');
}

/** What GitHub makes of a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

function fences(markdown: string): { language: string; line: number; code: string }[] {
  return [...markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map((match) => ({
    language: match[1] ?? '',
    line: markdown.slice(0, match.index).split('\n').length + 1,
    code: (match[2] ?? '').trimEnd(),
  }));
}
