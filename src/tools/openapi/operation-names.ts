import { createHash } from 'node:crypto';
import { RESERVED_PREFIX } from '../../protocol/names.ts';

/** Characters of a tool's name, as in ADK. */
const LONGEST_NAME = 60;
/** Characters of a name with its prefix that all providers take. */
const LONGEST_OF_PROVIDERS = 64;
const LEAST_NAME = 20;
const LONGEST_ARGUMENT = 64;
const DIGEST = 6;
/** Characters of a name that are looked at. */
const LOOKED_AT = 500;

/** `getPetById` and `Get pet-by ID` as `get_pet_by_id`; empty where nothing is left. */
export function snakeCase(name: string): string {
  return name
    .slice(0, LOOKED_AT)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '')
    .toLowerCase();
}

interface NamedOperation {
  method: string;
  path: string;
  operationId?: string | undefined;
}

/** Name of a tool: of its operation's id, or of method and path; at most 60 characters, as in ADK. */
export function functionName({ method, path, operationId }: NamedOperation): string {
  const ofId = snakeCase(operationId ?? '');
  const name = (ofId === '' ? snakeCase(`${method}_${path}`) : ofId).slice(0, LONGEST_NAME).replace(/_$/, '');
  const isTaken = /^\d/.test(name) || name.startsWith(RESERVED_PREFIX) || name.startsWith('adk_request_');
  return name === '' || isTaken ? `call_${name}`.slice(0, LONGEST_NAME) : name;
}

/**
 * A name of its own for each operation. Those that would have the same name get a suffix of their method and path, which is the same in
 * each process and in any order of operations.
 */
export function uniqueNames(operations: readonly NamedOperation[], prefix?: string): string[] {
  const start = prefix === undefined || prefix === '' ? '' : `${prefix}_`;
  const most = Math.min(LONGEST_NAME, Math.max(LONGEST_OF_PROVIDERS - start.length, LEAST_NAME));
  const wanted = operations.map((each) => functionName(each).slice(0, most).replace(/_$/, ''));
  const counts = new Map<string, number>();
  for (const name of wanted) counts.set(name, (counts.get(name) ?? 0) + 1);
  return wanted.map((name, index) => {
    if (counts.get(name) === 1) return `${start}${name}`;
    const { method, path } = operations[index] as NamedOperation;
    const digest = createHash('sha256').update(`${method} ${path}`).digest('hex').slice(0, DIGEST);
    return `${start}${name.slice(0, most - DIGEST - 1)}_${digest}`;
  });
}

/** Names of arguments, each its own: a later one of the same name gets a number. */
export class ArgumentNames {
  readonly #taken = new Set<string>();
  /** Numbers from which those of a name may be free. */
  readonly #next = new Map<string, number>();
  readonly #preserved: boolean;

  constructor(preserved: boolean) {
    this.#preserved = preserved;
  }

  next(original: string): string {
    const isKept = this.#preserved && original.length <= LONGEST_ARGUMENT && original !== '__proto__';
    const snake = isKept ? original : snakeCase(original).slice(0, LONGEST_ARGUMENT);
    const wanted = snake === '' ? 'value' : /^\d/.test(snake) ? `n${snake}` : snake;
    let name = wanted;
    let count = this.#next.get(wanted) ?? 1;
    for (; this.#taken.has(name); count += 1) name = `${wanted}_${count}`;
    this.#next.set(wanted, count);
    this.#taken.add(name);
    return name;
  }
}
