import { globSync, readFileSync } from 'node:fs';
import { BlockedReason, FinishReason } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { VARIABLE_GROUPS } from '../../src/cli/variables.ts';
import { TOOL_FAILED } from '../../src/protocol/names.ts';
import { headingsOf, proseOf, root, textOf } from './documents.ts';

const sources = globSync(['src/**/*.ts', 'activities/**/*.ts', 'workflows/**/*.ts', 'worker/**/*.ts'], {
  cwd: root,
})
  .map((path) => readFileSync(root + path, 'utf8'))
  .join('\n')
  // Their examples have codes of their own.
  .replace(/\/\*\*.*?\*\//gs, '');

const found = (pattern: RegExp) => [...sources.matchAll(pattern)].map(([, code]) => code ?? '');

const modelCodes = found(/^export type ModelErrorKind =([^;]*);/gm)
  .flatMap((union) => [...union.matchAll(/'(\w+)'/g)].map(([, kind]) => kind ?? ''))
  .map((kind) => `HOLDFAST_MODEL_${kind.toUpperCase()}`);

/** Codes that the sources give: `code = '…'`, `code: '…'`, `errorCode ?? '…'`, the union of the stand-in's codes. */
const codes = [
  ...found(/\bcode(?: =|:) '([A-Z][A-Z_]+)'/g),
  ...found(/\b(?:errorCode|finishReason|blockReason)(?: \?\?|:) '([A-Z][A-Z_]+)'/g),
  ...found(/^ {2}\| '(GEMINI_STAND_IN_\w+)'/gm),
  ...modelCodes,
];

/** Types of failures that are no error's class. */
const failureTypes = [
  ...found(/ApplicationFailure\.nonRetryable\([^;]*?, '(\w+)'/g),
  ...found(/\brefusal\('\w+', '(\w+)'/g),
  ...found(/\btype: '([A-Z][a-z]\w+|HOLDFAST_\w+)'/g),
  ...found(/\bretryLater\(\s*'(\w+)'/g),
  ...found(/\bretryLater\(\s*(TOOL_FAILED)\b/g).map(() => TOOL_FAILED),
];

const reasons = [...Object.values(FinishReason), ...Object.values(BlockedReason)].filter(
  (reason) => reason !== 'STOP',
);

const all = new Set([...codes.filter((code) => code !== 'STOP'), ...failureTypes, ...reasons]);

const page = textOf('docs/errors.md');
const sections = headingsOf(page).filter((heading) => /^([A-Z][A-Z_]+|[A-Z][a-z]+[A-Z]\w+)$/.test(heading));

describe('docs/errors.md', () => {
  test('the sources are read: each kind of code is found', () => {
    expect(codes).toEqual(
      expect.arrayContaining([
        'HOLDFAST_DEFINITION',
        'HOLDFAST_MODEL_RATE_LIMITED',
        'HOLDFAST_ONCE_RESULT',
        'HOLDFAST_TOOL_FAILED',
        'TOOL_ERROR',
        'LLM_CALLS_LIMIT_EXCEEDED',
        'CANCELLED',
        'UNKNOWN',
        'UNKNOWN_ERROR',
        'GEMINI_STAND_IN_CLOSED',
      ]),
    );
    expect(failureTypes).toEqual(
      expect.arrayContaining(['InvalidStart', 'TurnFailed', 'ToolFailed', 'WorkerShutdown']),
    );
    // Environment variables apart, no name of ours is in the sources that isn't taken for a code.
    const variables = new Set(VARIABLE_GROUPS.flatMap((group) => Object.keys(group.variables)));
    const names = found(/\b(HOLDFAST_[A-Z]+(?:_[A-Z]+)*)\b/g).filter((name) => !variables.has(name));
    expect(names.filter((name) => !all.has(name) && name !== 'HOLDFAST_MODEL')).toEqual([]);
  });

  test('every code has a section', () => {
    expect([...all].filter((code) => !sections.includes(code))).toEqual([]);
  });

  test('every section is of a code', () => {
    expect(sections.filter((section) => !all.has(section))).toEqual([]);
  });

  test('a section names the error’s class, says what to do and whether it is retried', () => {
    const classOf = new Map(
      [...sources.matchAll(/^(?:export )?class (\w+) [^{]*\{(?:(?!^\}).)*?\bcode = '(\w+)'/gms)].map(
        ([, name, code]) => [code ?? '', name ?? ''],
      ),
    );
    expect(classOf.get('HOLDFAST_FENCED')).toBe('Fenced');
    const bodies = new Map(
      proseOf(page)
        .split(/^#{2,4} /m)
        .map((text) => [text.split('\n', 1)[0] ?? '', text]),
    );
    for (const code of sections.filter((section) => !(reasons as string[]).includes(section))) {
      const body = bodies.get(code);
      expect(body, code).toContain('**What to do.**');
      expect(body, code).toContain('**Retried.**');
      const name = classOf.get(code);
      if (name !== undefined) expect(body, code).toContain(`\`${name}\` · `);
    }
  });
});
