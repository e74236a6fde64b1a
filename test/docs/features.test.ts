import { expect, test } from 'vitest';
import { DOCUMENT, toolsDocument } from '../../scripts/document-features.ts';
import { textOf } from './documents.ts';

/** As the formatter aligns tables, and as they are made. */
function unaligned(page: string): string {
  return page.replace(/ +/g, ' ').replace(/-{3,}/g, '---');
}

test(`the table of features in ${DOCUMENT} is the manifest's: else run npm run document [docs.tools]`, () => {
  const page = textOf(DOCUMENT);
  expect(unaligned(page)).toBe(unaligned(toolsDocument(page)));
  expect(page).toMatch(/\| Callbacks before, after and on errors of a model call.*\| adk-go: Tool Callbacks/);
});
