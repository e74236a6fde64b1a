import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { messageOf } from '../../protocol/message-of.ts';
import { makeFolder } from '../../store/engine/make-folder.ts';
import { CliError } from '../cli-error.ts';
import { type CommandOutput, processOutput } from '../command-output.ts';
import { shellWord } from '../shell-word.ts';
import { ownSource } from './own-source.ts';
import { templateFiles } from './template.ts';

export interface InitOptions {
  force?: boolean;
  json?: boolean;
}

/** `holdfast init`: a project that runs, with a test. */
export function initCommand(
  folder: string,
  { force = false, json }: InitOptions,
  output: CommandOutput = processOutput(),
): void {
  const path = resolve(folder);
  const files = templateFiles({ project: packageName(basename(path)), holdfast: ownSource() });
  const names = Object.keys(files);
  if (existsSync(path) && !statSync(path).isDirectory())
    throw new CliError(`${folder} is a file; name a folder`);
  const present = existsSync(path) ? readdirSync(path) : [];
  const taken = names.filter((name) => present.includes(name));
  if (taken.length > 0 && !force) {
    throw new CliError(
      `${folder} has ${taken.join(', ')} already: name another folder, or overwrite ${taken.length === 1 ? 'it' : 'them'} with --force`,
    );
  }
  try {
    makeFolder(path);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
  } catch (error) {
    throw new CliError(`${folder} can't be written to: ${messageOf(error)}`);
  }
  const place = relative(process.cwd(), path);
  const next = [
    ...(place === '' ? [] : [`cd ${shellWord(place)}`]),
    'npm install',
    'npm test',
    'npm run dev',
  ];
  if (json) {
    output.json({ folder: path, files: names, next });
    return;
  }
  for (const name of names)
    output.line(`${taken.includes(name) ? 'overwritten' : 'made'}  ${join(folder, name)}`);
  output.line();
  output.line('Next:');
  for (const command of next) output.line(`  ${command}`);
}

/** What npm takes for a name. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|(?<![._-])[._-]+$/g, '')
    .slice(0, 214);
  return name === '' || name === 'holdfast' ? 'my-agents' : name;
}
