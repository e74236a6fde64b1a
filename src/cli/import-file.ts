import { existsSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { HoldfastError } from '../contract/error.ts';
import { CliError } from './cli-error.ts';

/**
 * Loads a TypeScript or JavaScript file as it is.
 *
 * @param file as it was named.
 * @param version loads the file, not what it imports, anew.
 * @throws CliError
 */
export async function importFile(
  file: string,
  path: string,
  version?: number,
): Promise<Record<string, unknown>> {
  try {
    const { href } = pathToFileURL(path);
    return await import(version === undefined ? href : `${href}?version=${version}`);
  } catch (error) {
    throw new CliError(`${file} can't be loaded: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`;
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return `${error.message}${placeOf(error)}\nNode runs TypeScript by removing the types: write enums, parameter properties and namespaces as plain JavaScript.`;
  }
  if (/import statement outside a module|Unexpected token 'export'/.test(error.message)) {
    return `${error.message}\nWrite "type": "module" into the package.json beside it, or name the file .mts.`;
  }
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_UNSUPPORTED_DIR_IMPORT')
    return `${error.message}\n${importRemedy(error)}`;
  if (error instanceof SyntaxError) return `${error.message}${placeOf(error)}`;
  if (error instanceof HoldfastError) return error.message;
  return stackOfUser(error);
}

/** Node wants a file's whole name: one that is there may be meant. */
function importRemedy({ message, url }: Error & { url?: string }): string {
  const [, from = ''] = / imported from (.+)$/.exec(message) ?? [];
  const missing = url === undefined ? '' : fileURLToPath(url);
  const meant = ['.ts', '.mts', '.js', '.mjs', '/index.ts', '/index.js'].map((end) => missing + end);
  const found = [...meant, missing.replace(/js$/, 'ts')].find((name) => name !== missing && existsSync(name));
  if (missing === '' || found === undefined) return 'Install the package, or correct the import.';
  const way = relative(dirname(from), found).replaceAll('\\', '/');
  return `Node wants the file's whole name: write '${way.startsWith('.') ? way : `./${way}`}'.`;
}

/** The stack down to where the file is loaded. */
function stackOfUser(error: Error): string {
  const lines = (error.stack ?? error.message).split('\n');
  const loader = lines.findIndex((line) => /^\s+at async importFile \(/.test(line));
  return lines
    .slice(0, loader < 0 ? undefined : loader)
    .filter((line) => !/^\s+at .*\(?node:internal/.test(line))
    .join('\n');
}

/** Node prints the place of a syntax error, a path or URL with its line, at the head of its stack. */
function placeOf(error: Error): string {
  const head = error.stack?.split('\n').slice(0, 4) ?? [];
  return /^(file:|\/|\w:\\).*:\d+$/.test(head[0] ?? '') ? `\n${head.join('\n')}` : '';
}
