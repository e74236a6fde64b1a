import { html } from 'hono/html';
import { amountOf } from '../../approvals/amount.ts';
import { isSensitive } from '../../approvals/sensitive.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { canonicalJson } from '../../protocol/canonical-json.ts';
import { visibleJson } from '../../protocol/visible-text.ts';
import { type Field, type Filled, parsedJson, parsedNumber } from './fields.ts';
import { isPlain } from './shown-text.ts';
import { nameOf } from './shown-value.ts';
import type { Form } from './take-form.ts';

type Request = Pick<ApprovalRow, 'args' | 'sensitive'>;

/** One argument: its field, and how it is read. */
export interface EditField {
  name: string;
  field: Field;
  /** As the field shows the value that was asked about. */
  before: string;
  read(text: string): { value: unknown } | { problem: string };
}

/** A person's edit of the arguments. */
export interface Edit {
  /** Without sensitive ones, which stay as they are; undefined where a field is wrong. */
  args: Record<string, unknown> | undefined;
  /** By the fields’ ids. */
  filled: ReadonlyMap<string, Filled>;
}

const LONGEST_LINE = 60;

/** Whether there is anything in it that may be changed. */
export function isEditable({ kind, terms, args, sensitive }: ApprovalRow): boolean {
  const mayBe = kind === 'confirmation' && terms.allowEdit === true && sensitive !== true;
  return mayBe && Object.keys(args).some((name) => !isSensitive(sensitive, name));
}

/** A field for each argument that may be changed, by name. */
export function editFields({ args, sensitive }: Request): EditField[] {
  return Object.keys(args)
    .sort()
    .filter((name) => !isSensitive(sensitive, name))
    .map((name, index) => editField(name, `arg-${index}`, args[name]));
}

export function readEdit(request: Request, form: Form): Edit {
  const filled = new Map<string, Filled>();
  const args = editFields(request).map(({ name, field, before, read }) => {
    const value = form.get(field.id) ?? before;
    // An untouched field keeps its value, also if the form changes its text.
    const answer = value === before ? { value: request.args[name] } : read(value);
    filled.set(field.id, { value, ...('problem' in answer ? { problem: answer.problem } : {}) });
    return [name, 'value' in answer ? answer.value : undefined] as const;
  });
  const isRight = [...filled.values()].every(({ problem }) => problem === undefined);
  return { args: isRight ? Object.fromEntries(args) : undefined, filled };
}

/** An edit that the preview has shown, as its form sends it on; undefined for what no preview has made. */
export function previewedEdit(request: Request, text: string): Record<string, unknown> | undefined {
  const parsed = parsedJson(text);
  const value = 'value' in parsed ? parsed.value : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const names = editFields(request).map(({ name }) => name);
  const isWhole = canonicalJson(Object.keys(value).sort()) === canonicalJson([...names].sort());
  return isWhole ? (value as Record<string, unknown>) : undefined;
}

/** The fields of a form that shows this edit again. */
export function filledWith(request: Request, args: Record<string, unknown>): Map<string, Filled> {
  const after = editFields({ args, sensitive: request.sensitive });
  const before = editFields(request);
  return new Map(
    before.map(({ name, field }, index) => {
      const changed = after[index];
      // A changed kind has another field: JSON fits all.
      const value = changed?.field.control === field.control ? changed.before : visibleJson(args[name]);
      return [field.id, { value }] as const;
    }),
  );
}

/** Names of the arguments that an edit changes. */
export function changedNames(request: Request, args: Record<string, unknown>): string[] {
  return Object.keys(args).filter((name) => canonicalJson(args[name]) !== canonicalJson(request.args[name]));
}

function editField(name: string, id: string, value: unknown): EditField {
  const label = nameOf(name);
  if (typeof value === 'string' && isPlain(value)) {
    const isLong = value.length > LONGEST_LINE || value.includes('\n');
    const field: Field = { id, label, control: isLong ? 'lines' : 'line' };
    return { name, field, before: value, read: (text) => ({ value: text }) };
  }
  if (typeof value === 'number') {
    const [before, amount] = [String(value), amountOf(name, value)];
    const hint = amount === undefined ? undefined : html`${before} = ${amount}`;
    return { name, field: { id, label, hint, control: 'number' }, before, read: parsedNumber };
  }
  if (typeof value === 'boolean') {
    const options = [
      ['true', html`true`],
      ['false', html`false`],
    ] as const;
    return {
      ...{ name, field: { id, label, control: 'choice', options }, before: String(value) },
      read: (text) =>
        text === 'true' || text === 'false' ? { value: text === 'true' } : { problem: 'Choose one.' },
    };
  }
  const hint =
    typeof value === 'string'
      ? html`JSON, since it has characters that can’t be seen: they stand in it as \\u escapes.`
      : html`JSON`;
  return { name, field: { id, label, hint, control: 'json' }, before: visibleJson(value), read: parsedJson };
}
