import type { InspectOptions, inspect as nodeInspect } from 'node:util';
import { isReservedKey, reservedKeyText } from '../protocol/reserved-state.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import { checkStateWrites } from './state-schema.ts';
import { ToolError } from './tool-error.ts';

/** A key of the state was written that is reserved for Holdfast. */
export class ReservedStateKey extends ToolError {
  override readonly name = 'ReservedStateKey';

  constructor(key: string) {
    super(`state.set: ${reservedKeyText(key)}`, { code: 'HOLDFAST_RESERVED_STATE_KEY', retryable: false });
  }
}

type StateRecord = Record<string, unknown>;

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * A session's state, as one call or callback sees it: what was there, under what it wrote itself. Writes go into the
 * delta, which is stored with the event.
 *
 * Semantics: `State` of `@google/adk` 2.0.0, except that values got from it may be changed freely without anybody else
 * seeing that, and that undefined is written as null, because JSON has no undefined.
 *
 * @example
 * context.state.set('user:plan', 'pro');
 * context.state.get('cart', []);
 */
export class State {
  /** Keys that start like this are shared by all users of the app. */
  static readonly APP_PREFIX = 'app:';
  /** Keys that start like this are shared by all sessions of the user. */
  static readonly USER_PREFIX = 'user:';
  /** Keys that start like this last until the invocation ends. */
  static readonly TEMP_PREFIX = 'temp:';

  readonly #value: StateRecord;
  readonly #delta: StateRecord;
  readonly #schema: SchemaLike | undefined;
  readonly #copies = new Map<string, unknown>();
  #isValueShared = false;

  /**
   * @param value what was there; it gets what is written, too, as in ADK.
   * @param delta gets what is written; frozen makes the state read-only.
   * @param schema of an object: writes of other keys, and of values that don't fit, are refused.
   */
  constructor(value: StateRecord = {}, delta: StateRecord = {}, schema?: SchemaLike) {
    this.#value = value;
    this.#delta = delta;
    this.#schema = schema;
  }

  /** A state over a value that others read: it is never changed. */
  static over(value: Readonly<StateRecord>, delta: StateRecord, schema?: SchemaLike): State {
    const state = new State(value, delta, schema);
    state.#isValueShared = true;
    return state;
  }

  get<T>(key: string, defaultValue?: T): T | undefined {
    if (Object.hasOwn(this.#delta, key)) return this.#delta[key] as T;
    if (Object.hasOwn(this.#value, key)) return this.#copyOf(key) as T;
    return defaultValue;
  }

  /**
   * @param value JSON; undefined becomes null.
   * @throws TypeError where the state is read-only.
   * @throws JsonValueError naming the path of what JSON can't carry.
   * @throws StateSchemaError for what the agent's `stateSchema` doesn't allow.
   * @throws ReservedStateKey for a key that begins with `temp:_holdfast_` or `temp:holdfast_`, in any case.
   */
  set(key: string, value: unknown): void {
    if (Object.isFrozen(this.#delta)) {
      throw new TypeError(
        `state.set(${JSON.stringify(key)}): the state is read-only here; write it in a tool or callback`,
      );
    }
    if (isReservedKey(key)) throw new ReservedStateKey(key);
    checkStateWrites(this.#schema, { [key]: value });
    assertJson(key, value);
    for (const record of this.#isValueShared ? [this.#delta] : [this.#delta, this.#value]) {
      // An assignment to `__proto__` would set the prototype.
      Object.defineProperty(record, key, {
        value: value ?? null,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#delta, key) || Object.hasOwn(this.#value, key);
  }

  /** Whether anything has been written. */
  hasDelta(): boolean {
    return Object.keys(this.#delta).length > 0;
  }

  /** Writes several keys, or none where the schema refuses one. */
  update(delta: Readonly<StateRecord>): void {
    checkStateWrites(this.#schema, delta);
    for (const [key, value] of Object.entries(delta)) this.set(key, value);
  }

  toRecord(): StateRecord {
    const keys = new Set([...Object.keys(this.#value), ...Object.keys(this.#delta)]);
    return Object.fromEntries([...keys].map((key) => [key, this.get(key)]));
  }

  /** `console.log(context.state)` shows what is in it, as ADK's does. */
  [INSPECT](_depth: number, options: InspectOptions, inspect: typeof nodeInspect): string {
    return `State ${inspect(this.toRecord(), options)}`;
  }

  #copyOf(key: string): unknown {
    if (!this.#copies.has(key)) this.#copies.set(key, structuredClone(this.#value[key]));
    return this.#copies.get(key);
  }
}

function assertJson(key: string, value: unknown): void {
  try {
    toJsonValue(value);
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    throw new JsonValueError(['state', key, ...error.at], error.problem, { cause: error });
  }
}
