import { html } from 'hono/html';
import type { ApprovalRow } from '../../contract/requests.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { type Field, type Filled, parsedJson, parsedNumber } from './fields.ts';
import { type Html, shown } from './shown-text.ts';
import { nameOf } from './shown-value.ts';
import type { Form } from './take-form.ts';

/** A part of the answer; without a name it is all of it. */
interface InputField {
  name?: string;
  field: Field;
  /** Undefined: left out. */
  read(text: string): { value: unknown } | { problem: string } | undefined;
}

/** A person's answer. */
export interface Input {
  /** Undefined when a field is wrong. */
  response: { value: unknown } | undefined;
  filled: ReadonlyMap<string, Filled>;
}

const MOST_FIELDS = 40;
const SHORT = 80;
/** Characters. */
const LONGEST_DEFAULT = 200;

/**
 * Fields for an answer, by the request's schema: one for each property of a flat object, one for a plain value, else one for JSON.
 * Whether an answer fits in every way says the worker that takes it: a schema may be a model's, and nothing here runs it.
 */
export function inputFields({ responseSchema }: Pick<ApprovalRow, 'responseSchema'>): InputField[] {
  if (!isRecord(responseSchema)) return [jsonField()];
  if (typeOf(responseSchema) !== 'object') {
    const whole = fieldOf(responseSchema, { id: 'answer', label: html`Your answer`, required: true });
    return [whole ?? jsonField()];
  }
  const properties = isRecord(responseSchema.properties) ? Object.entries(responseSchema.properties) : [];
  const required = Array.isArray(responseSchema.required) ? responseSchema.required : [];
  const fields = properties.map(([name, schema], index) => {
    if (!isRecord(schema)) return undefined;
    const label = labelOf(name, schema);
    const field = fieldOf(schema, { id: `in-${index}`, label, required: required.includes(name) });
    return field && { ...field, name };
  });
  const isFlat = fields.length > 0 && fields.length <= MOST_FIELDS;
  return isFlat && fields.every((field) => field !== undefined) ? fields : [jsonField()];
}

export function readInput(request: Pick<ApprovalRow, 'responseSchema'>, form: Form): Input {
  const filled = new Map<string, Filled>();
  const fields = inputFields(request);
  const parts = fields.flatMap(({ name, field, read }) => {
    const text = form.get(field.id) ?? '';
    const answer = read(text);
    const problem = answer !== undefined && 'problem' in answer ? answer.problem : undefined;
    filled.set(field.id, { value: text, ...(problem === undefined ? {} : { problem }) });
    return answer !== undefined && 'value' in answer ? [[name, answer.value] as const] : [];
  });
  const isRight = [...filled.values()].every(({ problem }) => problem === undefined);
  if (!isRight) return { response: undefined, filled };
  const isWhole = fields.some(({ name }) => name === undefined);
  const value = isWhole ? parts[0]?.[1] : Object.fromEntries(parts);
  return { response: { value }, filled };
}

function fieldOf(
  schema: Record<string, unknown>,
  { id, label, required }: { id: string; label: Html; required: boolean },
): Omit<InputField, 'name'> | undefined {
  const base = { id, label, optional: !required, ...defined({ hint: hintOf(schema) }) };
  const values = choicesOf(schema);
  if (values !== undefined) {
    const options = values.map(
      (value, index) =>
        [String(index), shown(typeof value === 'string' ? value : JSON.stringify(value))] as const,
    );
    return {
      field: { ...base, control: 'choice', options },
      read: (text) =>
        text === ''
          ? left(required, 'Choose one.')
          : Object.hasOwn(values, text)
            ? { value: values[Number(text)] }
            : { problem: 'Choose one.' },
    };
  }
  switch (typeOf(schema)) {
    case 'string': {
      const isShort = typeof schema.maxLength === 'number' && schema.maxLength <= SHORT;
      return {
        field: { ...base, control: isShort || typeof schema.format === 'string' ? 'line' : 'lines' },
        read: (text) => (text === '' ? left(required, 'This is needed.') : { value: text }),
      };
    }
    case 'integer':
    case 'number':
      return {
        field: { ...base, control: 'number' },
        read: (text) => (text.trim() === '' ? left(required, 'This is needed.') : parsedNumber(text)),
      };
    case 'boolean':
      return {
        field: {
          ...base,
          control: 'choice',
          options: [
            ['true', html`Yes`],
            ['false', html`No`],
          ],
        },
        read: (text) =>
          text === 'true' || text === 'false' ? { value: text === 'true' } : left(required, 'Choose one.'),
      };
    default:
      return undefined;
  }
}

function jsonField(): InputField {
  const field: Field = {
    id: 'answer',
    label: html`Your answer`,
    hint: html`JSON; text stands in "quotes".`,
    control: 'json',
  };
  return { field, read: (text) => (text.trim() === '' ? { problem: 'This is needed.' } : parsedJson(text)) };
}

function hintOf({ description, default: preset }: Record<string, unknown>): Html | undefined {
  const told = typeof description === 'string' && description !== '' ? description : undefined;
  if (preset === undefined) return told === undefined ? undefined : shown(told);
  const text = typeof preset === 'string' ? preset : JSON.stringify(preset);
  const value = shown(visibleExcerpt(text, LONGEST_DEFAULT));
  return told === undefined ? html`Default: ${value}` : html`${shown(told)} (default: ${value})`;
}

function left(required: boolean, problem: string): { problem: string } | undefined {
  return required ? { problem } : undefined;
}

/** Scalars that an answer is one of. */
function choicesOf({
  enum: values,
}: Record<string, unknown>): (string | number | boolean | null)[] | undefined {
  if (!Array.isArray(values) || values.length === 0 || values.length > 200) return undefined;
  const areScalar = values.every(
    (value) => value === null || ['string', 'number', 'boolean'].includes(typeof value),
  );
  return areScalar ? values : undefined;
}

/** As JSON Schema has it; the provider's own schemas have capitals. */
function typeOf({ type }: Record<string, unknown>): string | undefined {
  return typeof type === 'string' ? type.toLowerCase() : undefined;
}

function labelOf(name: string, { title }: Record<string, unknown>): Html {
  return typeof title === 'string' && title !== ''
    ? html`${shown(title)} <small>${nameOf(name)}</small>`
    : nameOf(name);
}
