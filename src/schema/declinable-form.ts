import { isRecord } from '../protocol/json.ts';
import type { JsonSchemaObject } from './compiled-schema.ts';

/** A form that a person can decline, and the field that declines it. */
export interface DeclinableForm {
  form: JsonSchemaObject;
  decline: string;
}

/** A form that can be declined, too: by a field of ours beside the form's own, of which none is needed then. */
export function declinable(form: JsonSchemaObject): { schema: JsonSchemaObject; decline: string } {
  const { properties = {}, required = [], ...rest } = form;
  let decline = 'decline';
  // The schema compiler names what is wrong with it.
  if (!isRecord(properties)) return { schema: form, decline };
  while (Object.hasOwn(properties, decline)) decline = `_${decline}`;
  const description = 'Yes declines to answer: leave the other fields empty.';
  const schema = {
    ...rest,
    properties: { ...properties, [decline]: { type: 'boolean', title: 'Decline', description } },
    anyOf: [{ required }, declined(decline)],
  };
  return { schema, decline };
}

/** The form that {@link declinable} has made a schema of: for a person who can decline without a field. Undefined for any other schema. */
export function declinableForm(schema: unknown): DeclinableForm | undefined {
  if (!isRecord(schema) || !isRecord(schema.properties) || !Array.isArray(schema.anyOf)) return undefined;
  const { properties, anyOf, ...rest } = schema;
  const [own, other, ...more] = anyOf as unknown[];
  const [decline] = isRecord(other) && Array.isArray(other.required) ? (other.required as unknown[]) : [];
  if (!isRecord(own) || typeof decline !== 'string' || more.length > 0) return undefined;
  if (Object.keys(own).join() !== 'required' || JSON.stringify(other) !== JSON.stringify(declined(decline)))
    return undefined;
  const { [decline]: _, ...fields } = properties;
  return { form: { ...rest, properties: fields, required: own.required }, decline };
}

function declined(decline: string): JsonSchemaObject {
  return { properties: { [decline]: { const: true } }, required: [decline] };
}
