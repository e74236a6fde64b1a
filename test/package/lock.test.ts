import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Locked {
  resolved?: string;
  integrity?: string;
  optionalDependencies?: Record<string, string>;
}
type Packages = Record<string, Locked>;

const { packages }: { packages: Packages } = JSON.parse(
  readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
);

/** Whether a package finds another one: in its own folder, or in one of those above it. */
function isFound(from: string, name: string, all: Packages): boolean {
  if (`${from}${from === '' ? '' : '/'}node_modules/${name}` in all) return true;
  return from !== '' && isFound(from.slice(0, Math.max(from.lastIndexOf('/node_modules/'), 0)), name, all);
}

/** Why `npm ci` would refuse the lock on some platform, or ask a registry that not everybody has. */
function problemsOf(all: Packages): string[] {
  return Object.entries(all).flatMap(([place, { resolved, integrity, optionalDependencies = {} }]) => {
    const missing = Object.keys(optionalDependencies)
      .filter((name) => !isFound(place, name, all))
      .map((name) => `${place}: ${name} is missing`);
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
  const { [`${swc}-darwin-arm64`]: _gone, ...others } = packages;
  const elsewhere = { ...others[swc], resolved: 'https://registry.example.com/core.tgz' };
  expect(problemsOf({ ...others, [swc]: elsewhere })).toEqual([
    `${swc}: @swc/core-darwin-arm64 is missing`,
    `${swc}: it is resolved to no address of the public registry`,
  ]);
});
