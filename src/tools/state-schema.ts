import { isRecord } from '../protocol/json.ts';
import { compileFields } from '../schema/compile-schema.ts';
import type { FieldChecks } from '../schema/compiled-schema.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import type { AgentView } from './invocation-context.ts';
import { ToolError } from './tool-error.ts';

/** A write that the agent's `stateSchema` doesn't allow. Semantics: the class of `@google/adk` 2.0.0. */
export class StateSchemaError extends ToolError {
  override readonly name = 'StateSchemaError';

  constructor(message: string) {
    super(message, { code: 'HOLDFAST_STATE_SCHEMA', retryable: false });
  }
}

/** Whether `value` is a {@link StateSchemaError}, of this or of another copy of the package. */
export function isStateSchemaError(value: unknown): value is StateSchemaError {
  return value instanceof Error && value.name === 'StateSchemaError';
}

/** Schemas of agents that were checked when they were made. */
const known = new WeakMap<object, FieldChecks>();

/**
 * Takes the schema of an agent's state: of an object, whose properties are the keys.
 *
 * @throws DefinitionError naming the place in the schema.
 */
export function readStateSchema(owner: string, schema: SchemaLike): void {
  known.set(schema, compileFields(schema, { owner, field: 'stateSchema', side: 'input' }));
}

/** The schema that counts for an agent: its own, else that of the nearest agent above it. */
export function stateSchemaOf(agent: AgentView | undefined): SchemaLike | undefined {
  for (let each = agent; each !== undefined; each = each.parentAgent) {
    if (each.stateSchema !== undefined) return each.stateSchema;
  }
  return undefined;
}

/**
 * Checks writes of a state. Keys with a prefix (`app:`, `user:`, `temp:`) belong to more than the agent, and are not checked.
 *
 * @throws StateSchemaError naming the key.
 */
export function checkStateWrites(
  schema: SchemaLike | undefined,
  delta: Readonly<Record<string, unknown>>,
): void {
  if (schema === undefined) return;
  if (!known.has(schema)) readStateSchema('State', schema);
  const fields = known.get(schema);
  for (const [key, value] of Object.entries(delta)) {
    if (key.includes(':') || fields === undefined) continue;
    const check = fields.get(key);
    if (check === undefined) {
      const names = JSON.stringify([...fields.keys()].sort());
      throw new StateSchemaError(
        `Key '${key}' is not declared in the state schema. Declared fields: ${names}`,
      );
    }
    const found = check(value);
    if (found.ok) continue;
    throw new StateSchemaError(
      `Value for '${key}' does not match the type declared in the state schema: ${found.message}`,
    );
  }
}

/** As {@link checkStateWrites}, for an event of user code. */
export function checkEventState(agent: AgentView | undefined, actions: unknown): void {
  const schema = stateSchemaOf(agent);
  if (schema !== undefined && isRecord(actions) && isRecord(actions.stateDelta))
    checkStateWrites(schema, actions.stateDelta);
}
