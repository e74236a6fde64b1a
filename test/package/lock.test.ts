import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Locked {
  version?: string;
  resolved?: string;
  integrity?: string;
  optionalDependencies?: Record<string, string>;
}
type Packages = Record<string, Locked>;

const { packages }: { packages: Packages } = JSON.parse(
  readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
);

/** The package that another one finds by a name: in its own folder, or in one of those above it. */
function found(from: string, name: string, all: Packages): Locked | undefined {
  const own = all[`${from}${from === '' ? '' : '/'}node_modules/${name}`];
  if (own !== undefined || from === '') return own;
  return found(from.slice(0, Math.max(from.lastIndexOf('/node_modules/'), 0)), name, all);
}

/** Whether a version is there, and is the one that is asked for where that is a single one. */
function isMet(range: string, version: string | undefined): boolean {
  return version !== undefined && (!/^\d/.test(range) || version === range);
}

/** Why `npm ci` would refuse the lock on some platform, or ask a registry that not everybody has. */
function problemsOf(all: Packages): string[] {
  return Object.entries(all).flatMap(([place, { resolved, integrity, optionalDependencies = {} }]) => {
    const missing = Object.entries(optionalDependencies)
      .filter(([name, range]) => !isMet(range, found(place, name, all)?.version))
      .map(([name, range]) => `${place}: ${name}@${range} is missing`);
    if (place === '') return missing;
    const isPublic = resolved?.startsWith('https://registry.npmjs.org/') === true;
    return [
      ...missing,
      ...(isPublic ? [] : [`${place}: it is resolved to no address of the public registry`]),
      ...(integrity?.startsWith('sha512-') ? [] : [`${place}: it has no integrity`]),
    ];
  });
}

test('the lock is whole: npm ci takes it on each platform, from the public registry [package.lock]', () => {
  expect(problemsOf(packages)).toEqual([]);
});

test('a lock without the packages of other platforms, or from elsewhere, is found out [package.lock]', () => {
  const swc = 'node_modules/@swc/core';
  const { [`${swc}-darwin-arm64`]: gone, [`${swc}-win32-x64-msvc`]: other, ...others } = packages;
  const elsewhere = { ...others[swc], resolved: 'https://registry.example.com/core.tgz' };
  const older = { ...other, version: '1.0.0' };
  expect(problemsOf({ ...others, [swc]: elsewhere, [`${swc}-win32-x64-msvc`]: older })).toEqual([
    `${swc}: @swc/core-darwin-arm64@${gone?.version} is missing`,
    `${swc}: @swc/core-win32-x64-msvc@${other?.version} is missing`,
    `${swc}: it is resolved to no address of the public registry`,
  ]);
});
