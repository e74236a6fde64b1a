import { globSync, readFileSync } from 'node:fs';
import { BlockedReason, FinishReason } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { describeError } from '../../src/cli/cli-error.ts';
import { explainCommand } from '../../src/cli/commands/explain.ts';
import { VARIABLE_GROUPS } from '../../src/cli/variables.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import { ERROR_CODES, type ErrorEntry, entryOf } from '../../src/contract/error-codes.ts';
import { TOOL_FAILED } from '../../src/protocol/names.ts';
import { capturedOutput } from '../cli/captured-output.ts';
import { headingsOf, proseOf, root, textOf } from './documents.ts';

const sources = globSync(['src/**/*.ts', 'activities/**/*.ts', 'workflows/**/*.ts', 'worker/**/*.ts'], {
  cwd: root,
})
  .map((path) => readFileSync(root + path, 'utf8'))
  .join('\n')
  // Their examples have codes of their own.
  .replace(/\/\*\*.*?\*\//gs, '');

const found = (pattern: RegExp) => [...sources.matchAll(pattern)].map(([, name]) => name ?? '');

/** Google's, of a model's answer: the code of a turn that fails by them. */
const reasons: string[] = [...Object.values(FinishReason), ...Object.values(BlockedReason)].filter(
  (reason) => reason !== 'STOP',
);

const codes = Object.keys(ERROR_CODES);
const all = new Set([...codes, ...reasons]);

const page = textOf('docs/errors.md');
const sections = headingsOf(page).filter((heading) => /^([A-Z][A-Z_]+|[A-Z][a-z]+[A-Z]\w+)$/.test(heading));
const bodies = new Map(
  proseOf(page)
    .split(/^#{2,4} /m)
    .map((text) => [text.split('\n', 1)[0] ?? '', text]),
);

describe('docs/errors.md', () => {
  test('each section is printed by holdfast explain, which errors name [errors.explain]', () => {
    for (const code of sections) {
      const output = capturedOutput();
      explainCommand(code.toLowerCase(), output);
      const [text = ''] = output.lines;
      expect(text.split('\n', 1)).toEqual([code]);
      expect(text.length).toBeGreaterThan(code.length + 20);
      expect(text).not.toMatch(/\]\(|^#/m);
      expect(text.match(/\*\*Retried\.\*\*/g)).toHaveLength(1);
    }
    expect(() => explainCommand('HOLDFAST_DEFINITIO', capturedOutput())).toThrow(
      'there is no error code HOLDFAST_DEFINITIO; did you mean "HOLDFAST_DEFINITION"?',
    );
    expect(describeError(new HoldfastError('HOLDFAST_SCHEMA', 'no schema'))).toBe(
      'no schema\nHOLDFAST_SCHEMA: npx holdfast explain HOLDFAST_SCHEMA',
    );
  });

  test('each code of the sources stands in the table', () => {
    const variables = new Set(VARIABLE_GROUPS.flatMap((group) => Object.keys(group.variables)));
    const names = found(/\b(HOLDFAST_[A-Z]+(?:_[A-Z]+)*)\b/g).filter((name) => !variables.has(name));
    expect(names.length).toBeGreaterThan(codes.length);
    expect(names.filter((name) => !all.has(name) && name !== 'HOLDFAST_MODEL')).toEqual([]);
    const others = [
      ...found(/\b(?:errorCode|finishReason|blockReason)(?: \?\?|:) '([A-Z][A-Z_]+)'/g),
      ...found(/ApplicationFailure\.nonRetryable\([^;]*?, '(\w+)'/g),
      ...found(/\b(?:refusal|failure)\((?:\w+, |'\w+', )?'([A-Z]\w+)'/g),
      ...found(/\btype: '([A-Z][a-z]\w+)'/g),
      ...found(/\bretryLater\(\s*'(\w+)'/g),
      ...found(/\bretryLater\(\s*(TOOL_FAILED)\b/g).map(() => TOOL_FAILED),
    ].filter((name) => name !== 'STOP' && !/ConnectionParams$/.test(name));
    expect(others).toEqual(
      expect.arrayContaining(['UNKNOWN_ERROR', 'InvalidStart', 'TurnFailed', 'ToolFailed', 'WorkerShutdown']),
    );
    expect(others.filter((name) => !all.has(name))).toEqual([]);
  });

  test('each code of the table stands in the sources', () => {
    const table = readFileSync(`${root}src/contract/error-codes.ts`, 'utf8');
    const rest = sources.replace(table.replace(/\/\*\*.*?\*\//gs, ''), '');
    // A kind of a model's error makes its code.
    const isUnused = (code: string) => !code.startsWith('HOLDFAST_MODEL_') && !rest.includes(code);
    expect(codes.filter(isUnused)).toEqual([]);
  });

  test('every code has a section', () => {
    expect([...all].filter((code) => !sections.includes(code))).toEqual([]);
  });

  test('every section is of a code', () => {
    expect(sections.filter((section) => !all.has(section))).toEqual([]);
  });

  test('a section names the error and its HTTP status, says what to do', () => {
    for (const [code, { name, status, exit }] of Object.entries<ErrorEntry>(ERROR_CODES)) {
      const body = bodies.get(code);
      expect(body, code).toContain('**Remedy.**');
      const head = [name && `\`${name}\``, status, exit && `exit code ${exit}`].filter(Boolean);
      if (head.length > 0) expect(body, code).toContain(`\n\n${head.join(', ')}: `);
    }
  });
});

describe('the classes of errors', () => {
  test('each has the name that the table has of its code', () => {
    const classes = [...sources.matchAll(/class (\w+) extends codedError\(\s*'(\w+)'/g)];
    expect(classes.length).toBeGreaterThan(40);
    for (const [, name, code] of classes) expect(entryOf(code ?? '')?.name, code).toBe(name);
  });

  test('each extends the family, apart from what mock servers answer with', () => {
    const strangers = found(/\bclass (\w+) extends (?:Type|Range|Syntax)?Error\b/g);
    expect(new Set(strangers)).toEqual(
      new Set(['HoldfastError', 'ConnectionLost', 'GeminiRefusal', 'SlackRefusal']),
    );
  });

  test('no two have the same name', () => {
    const names = found(/\bclass (\w+) extends (?:codedError\(|\w*(?:Error|Failure|Refused)\b)/g);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
