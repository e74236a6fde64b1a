import { createRequire } from 'node:module';
import { DefinitionError } from './definition-error.ts';

/** @throws DefinitionError where an optional package isn't installed beside Holdfast, naming the command that installs it. */
export function assertInstalled(owner: string, name: string): void {
  try {
    createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    const problem = `needs the package ${name}, which is not installed: npm install ${name}`;
    throw new DefinitionError({ owner, problem }, { cause });
  }
}
