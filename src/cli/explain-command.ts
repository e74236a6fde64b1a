import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { didYouMean } from '../schema/known-fields.ts';
import { CliError } from './cli-error.ts';
import { type CommandOutput, processOutput } from './command-output.ts';

/** Inside of the package, built or not. */
const PAGE = new URL(`${import.meta.url.endsWith('.js') ? '../' : ''}../../docs/errors.md`, import.meta.url);

const HEADING = /^#{2,4} (.*)$/;
const LINK = /\[([^\]]+)\]\(([^)#]*)(#[^)]*)?\)/g;

/**
 * `holdfast explain`: the section of `docs/errors.md` about a code.
 *
 * @throws CliError for a code that has none.
 */
export function explainCommand(code: string, output: CommandOutput = processOutput()): void {
  const lines = readFileSync(fileURLToPath(PAGE), 'utf8').split('\n');
  const names = lines.map((line) => HEADING.exec(line)?.[1]);
  const begin = names.findIndex((name) => name !== undefined && name.toUpperCase() === code.toUpperCase());
  if (begin === -1) {
    const codes = names.flatMap((name) => (name !== undefined && /^\w+$/.test(name) ? [name] : []));
    throw new CliError(`there is no error code ${code}${didYouMean(code, codes)}`);
  }
  const end = names.findIndex((name, index) => index > begin && name !== undefined);
  const [heading = '', ...body] = lines.slice(begin, end === -1 ? undefined : end);
  const section = [heading.replace(HEADING, '$1'), ...body].join('\n');
  const text = section.replaceAll(LINK, (_, words: string, file: string) => {
    return file === '' || file.includes(':') ? words : `${words} (docs/${file})`;
  });
  output.line(text.trim());
}
