/** Characters of a message id or an agent's name, at most. */
export const LONGEST_NAME = 1_000;

/** JSON bytes of a message's `runConfig.customMetadata`, at most: it travels with every message. */
export const MOST_METADATA_BYTES = 16 * 1024;

/** Levels of objects and lists in a message, at most: every side can walk it then, with any stack size. */
export const MOST_LEVELS = 100;

/** Whether objects and lists are nested in more than {@link MOST_LEVELS} levels, or in a circle. Doesn't recurse. */
export function isTooDeep(value: unknown): boolean {
  let level = new Set([value]);
  for (let depth = 0; level.size > 0; depth += 1) {
    // A set, because an object that holds itself twice would double each level.
    const inner = new Set<unknown>();
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      for (const field of Object.values(one))
        if (typeof field === 'object' && field !== null) inner.add(field);
    }
    if (depth > MOST_LEVELS) return true;
    level = inner;
  }
  return false;
}

/** What is wrong with a value that {@link isTooDeep}; undefined where it isn't. */
export function depthProblem(value: unknown): string | undefined {
  return isTooDeep(value) ? `${tooDeepText()}, or in a circle` : undefined;
}

/** For values that come from JSON, which has no circles. */
export function tooDeepText(levels: number = MOST_LEVELS): string {
  return `objects and lists are nested in more than ${levels} levels`;
}

/** What is wrong with a name that people or programs gave; undefined where nothing is. */
export function nameProblem(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return `${name.length} characters, at most ${LONGEST_NAME} are allowed`;
  if (name.includes('\0')) return 'a NUL character, which no database keeps: leave it out';
  if (!name.isWellFormed()) return 'a lone surrogate: use well-formed Unicode text';
  return undefined;
}

/** The problem of a run config's pauses at calls or of its metadata; undefined where it has none. */
export function runConfigProblem(
  runConfig: object,
  jsonBytes: (value: unknown) => number,
): { field: string; problem: string } | undefined {
  const { pauseOnToolCalls, customMetadata } = runConfig as Record<string, unknown>;
  if (pauseOnToolCalls !== undefined && typeof pauseOnToolCalls !== 'boolean') {
    return { field: 'runConfig.pauseOnToolCalls', problem: 'expected true, false or nothing' };
  }
  if (customMetadata === undefined) return undefined;
  const field = 'runConfig.customMetadata';
  if (typeof customMetadata !== 'object' || customMetadata === null || Array.isArray(customMetadata)) {
    return { field, problem: 'expected an object or nothing' };
  }
  const depth = depthProblem(customMetadata);
  if (depth !== undefined) return { field, problem: depth };
  const bytes = jsonBytes(customMetadata);
  if (bytes <= MOST_METADATA_BYTES) return undefined;
  return { field, problem: `${bytes} bytes of JSON, at most ${MOST_METADATA_BYTES} are allowed` };
}

/** What is wrong with the function response of a message's part; undefined where nothing is. */
export function functionResponseProblem(functionResponse: unknown): string | undefined {
  const { id } = (functionResponse ?? {}) as Record<string, unknown>;
  const problem = responseFormProblem(functionResponse);
  if (problem !== undefined || id === undefined || id === null || typeof id === 'string') return problem;
  return 'expected a function response with the id of its call, text or nothing';
}

/** Its id left out: a running turn says of each reply that it takes what is wrong with that, and the store refuses the others. */
export function responseFormProblem(functionResponse: unknown): string | undefined {
  const { name, response } = (functionResponse ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || name === '')
    return 'expected a function response with the name of its function';
  return isObject(response) ? undefined : 'expected a function response with an object as its response';
}

/**
 * What of a message no step of its session could read, then or later: its senders are told more, but not everybody who can write to
 * Temporal is one of them. Names the field; undefined where nothing is wrong.
 */
export function contentProblem(message: unknown, stateDelta?: unknown): string | undefined {
  const depth = depthProblem([message, stateDelta]);
  if (depth !== undefined) return `message: ${depth}`;
  if (typeof message === 'string') return undefined;
  const { parts } = (message ?? {}) as Record<string, unknown>;
  if (!Array.isArray(parts)) return 'message.parts: expected a list of parts';
  for (const [index, part] of parts.entries()) {
    const field = `message.parts[${index}]`;
    if (!isObject(part)) return `${field}: expected a part`;
    const { functionCall, functionResponse } = part as Record<string, unknown>;
    if (functionCall !== undefined) return `${field}: a message carries no function calls`;
    const problem = functionResponse === undefined ? undefined : functionResponseProblem(functionResponse);
    if (problem !== undefined) return `${field}.functionResponse: ${problem}`;
  }
  return undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
