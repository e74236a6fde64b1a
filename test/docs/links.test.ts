import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { anchorOf, documents, headingsOf, proseOf, root, textOf } from './documents.ts';

const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g;

function linksOf(path: string): string[] {
  return [...proseOf(textOf(path)).matchAll(LINK)]
    .map(([, target]) => target ?? '')
    .filter((target) => !/^[a-z]+:/.test(target));
}

describe.each(documents())('%s', (path) => {
  test('its links lead somewhere', () => {
    const broken = linksOf(path).filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : normalize(join(dirname(path), decodeURI(file)));
      if (!existsSync(root + target)) return true;
      return anchor !== undefined && !headingsOf(textOf(target)).map(anchorOf).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test('each anchor is one heading’s', () => {
    const anchors = headingsOf(textOf(path)).map(anchorOf);
    const changelog = path === 'CHANGELOG.md';
    expect(changelog ? [] : anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index)).toEqual([]);
  });
});
