import { type ErrorCode, entryOf, sectionOf } from './error-codes.ts';

/** On each error of the family, of this and of any other copy of the package. */
const FAMILY = Symbol.for('holdfast.error');

export interface HoldfastErrorOptions extends ErrorOptions {
  /** Whether the same may succeed later. @default the table's value for the code */
  retryable?: boolean;
  /** Facts for programs: JSON without secrets, since callers and logs get it. @default none */
  details?: Readonly<Record<string, unknown>>;
}

/**
 * Any error of Holdfast's own. Programs tell errors apart by `code`, which stays the same from release to release, or by class;
 * `docs/errors.md` has a section for each code.
 *
 * @example
 * try {
 *   await client.sendMessage(message);
 * } catch (error) {
 *   if (error instanceof HoldfastError && error.retryable) return later(message);
 *   throw error;
 * }
 */
export class HoldfastError extends Error {
  override readonly name: string = 'HoldfastError';
  readonly code: string;
  /** Whether the same may succeed later. */
  readonly retryable: boolean;
  /** HTTP status of an answer that tells of this error; undefined where callers of the gateway are not told of it. */
  readonly status: number | undefined;
  declare readonly details?: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: HoldfastErrorOptions = {}) {
    const { cause, details, retryable } = options;
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    const { name = this.name, status, retryable: usually = false } = entryOf(code) ?? {};
    this.name = name;
    this.retryable = retryable ?? usually;
    this.status = status;
    if (details !== undefined) this.details = details;
  }

  /** Address of the code's section in the documents; undefined for a code that isn't Holdfast's. */
  get docs(): string | undefined {
    return entryOf(this.code) && sectionOf(this.code);
  }

  get [FAMILY](): true {
    return true;
  }

  /** Without stack and cause, which may have secrets. */
  toJSON(): Record<string, unknown> {
    const { code, message, status, retryable, docs, details } = this;
    return { code, message, status, retryable, docs, details };
  }

  static override readonly [Symbol.hasInstance] = isInstance;
}

/** Another copy of the package has classes of its own: its errors count by brand, code and name of the class. */
function isInstance(this: { name: string; code?: unknown }, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
  if (typeof value !== 'object' || value === null || !(FAMILY in value)) return false;
  if (this === (HoldfastError as unknown)) return true;
  const { code } = value as HoldfastError;
  return this.code === code && this.name === entryOf(code)?.name;
}

/** A class whose errors all have one code. */
export interface CodedErrorClass<Code extends ErrorCode, Family extends HoldfastError = HoldfastError> {
  new (message: string, options?: HoldfastErrorOptions): Family & { readonly code: Code };
  readonly code: Code;
  [Symbol.hasInstance](value: unknown): boolean;
}

type Family = new (code: string, message: string, options?: HoldfastErrorOptions) => HoldfastError;

/**
 * Base of a class of errors with one code.
 *
 * @param of the family that it belongs to. @default HoldfastError
 * @example
 * export class TurnRunning extends codedError('HOLDFAST_TURN_RUNNING') {}
 */
export function codedError<const Code extends ErrorCode, Of extends Family = typeof HoldfastError>(
  code: Code,
  of: Of = HoldfastError as unknown as Of,
): CodedErrorClass<Code, InstanceType<Of>> {
  const Parent: Family = of;
  return class extends Parent {
    static readonly code = code;

    constructor(message: string, options?: HoldfastErrorOptions) {
      super(code, message, options);
    }
  } as unknown as CodedErrorClass<Code, InstanceType<Of>>;
}

/** Whether it is Holdfast's error of this code, of any class. */
export function hasCode<Code extends ErrorCode>(
  error: unknown,
  code: Code,
): error is HoldfastError & { readonly code: Code } {
  return error instanceof HoldfastError && error.code === code;
}
