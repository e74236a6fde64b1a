import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { REQUIREMENTS } from '../test/requirements.ts';
import { table } from './documents/markdown.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

export const DOCUMENT = 'docs/tools.md';

const BEGIN = '<!-- Features: made by `npm run document` from test/requirements; change them there. -->';
const END = '<!-- End of the features. -->';

/** Documents of others that Holdfast was asked to implement; the rest of the manifest is Holdfast's own. */
const OTHERS = /^(adk|hector|agent_tool)/;

/** docs/tools.md with its table of features as the manifest has them. */
export function toolsDocument(page: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`${DOCUMENT} lacks the marks of its table of features`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${features()}\n\n${page.slice(end)}`;
}

function features(): string {
  const rows = REQUIREMENTS.filter(({ source }) => OTHERS.test(source));
  return table(
    ['Feature', 'From', 'Here'],
    rows.map(({ behaviour, source, isPlanned }) => [behaviour, source, isPlanned ? 'later' : 'yes']),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = `${root}${DOCUMENT}`;
  writeFileSync(path, toolsDocument(readFileSync(path, 'utf8')));
}
