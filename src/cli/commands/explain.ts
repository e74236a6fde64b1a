import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_FOLDER } from '../../own-files.ts';
import { didYouMean } from '../../schema/known-fields.ts';
import { CliError } from '../cli-error.ts';
import { processOutput } from '../command-output.ts';
import type { AddCommand } from './command.ts';

/** @throws CliError for a code without a section. */
export function explainCommand(code: string, output = processOutput()): void {
  const sections = readFileSync(join(PACKAGE_FOLDER, 'docs/errors.md'), 'utf8')
    .split(/^#{2,4} /m)
    .map((text) => ({ name: text.split('\n', 1)[0] ?? '', text }));
  const found = sections.find(({ name }) => name.toUpperCase() === code.toUpperCase());
  if (found === undefined) {
    const names = sections.map(({ name }) => name);
    throw new CliError(`there is no error code ${code}${didYouMean(code, names)}`);
  }
  const text = found.text.replaceAll(/\[([^[\]]+)\]\([^()]*\)/g, '$1').trim();
  output.line(text.includes('**Retried.**') ? text : `${text}\n\n**Retried.** No.`);
}

export const explain: AddCommand = (holdfast) => {
  holdfast
    .command('explain')
    .description('what an error code means, and what to do')
    .argument('<code>', 'as the error names it: HOLDFAST_DEFINITION')
    .action((code: string) => explainCommand(code));
};
