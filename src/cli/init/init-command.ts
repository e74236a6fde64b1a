import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { ownVersion, PACKAGE_FOLDER } from '../../own-files.ts';
import { isRecord } from '../../protocol/json.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { shellWord } from '../../protocol/shell-word.ts';
import { makeFolder } from '../../store/engine/make-folder.ts';
import { CliError } from '../cli-error.ts';
import { processOutput } from '../command-output.ts';
import { type Template, templateFiles } from './template.ts';

export interface InitOptions {
  force?: boolean;
  json?: boolean;
  /** @default 'basic' */
  template?: Template;
}

/** `holdfast init`: a project that runs, with a test. */
export function initCommand(
  folder: string,
  { force = false, json, template = 'basic' }: InitOptions,
  output = processOutput(),
): void {
  const path = resolve(folder);
  const files = templateFiles({ project: packageName(basename(path)), holdfast: ownSource(), template });
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

/** Package names that npm takes. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|(?<![._-])[._-]+$/g, '')
    .slice(0, 214);
  return name === '' || name === 'holdfast' ? 'my-agents' : name;
}

/**
 * The version by which a `package.json` requires this very Holdfast: its version where it came from a registry, else the tarball, the git URL
 * or the clone that it was installed from.
 */
export function ownSource(folder = PACKAGE_FOLDER): string {
  const modules = dirname(folder);
  if (basename(modules) !== 'node_modules') return `file:${folder}`;
  const resolved = resolvedIn(modules, basename(folder));
  if (resolved === undefined || /\/-\/[^/]+\.tgz$/.test(resolved)) return ownVersion();
  if (resolved.startsWith('file:'))
    return `file:${resolve(dirname(modules), resolved.slice('file:'.length))}`;
  return withoutCredentials(resolved);
}

/** Where npm says that a package came from. Other package managers write no such file: then the version has to do. */
function resolvedIn(modules: string, name: string): string | undefined {
  try {
    const lock: unknown = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'));
    const packages = isRecord(lock) && isRecord(lock.packages) ? lock.packages : {};
    const own = packages[`node_modules/${name}`];
    return isRecord(own) && typeof own.resolved === 'string' ? own.resolved : undefined;
  } catch {
    return undefined;
  }
}

/** A password or token of the URL doesn't belong into a file that is committed; `git@` of SSH is none. */
function withoutCredentials(url: string): string {
  return url.replace(/^((?:git\+)?https?:\/\/)[^/@]*@/, '$1');
}
