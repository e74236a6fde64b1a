import { expect, test } from 'vitest';
import { DOCUMENT, toolsDocument } from '../../scripts/document-features.ts';
import { textOf } from './documents.ts';

test(`the table of features in ${DOCUMENT} is the manifest's: else run npm run document [docs.tools]`, () => {
  const page = textOf(DOCUMENT);
  expect(page).toBe(toolsDocument(page));
  expect(page).toMatch(/\| Callbacks before, after and on errors of a model call.*\| adk-go: Tool Callbacks/);
});
