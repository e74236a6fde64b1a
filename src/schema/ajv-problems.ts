import type { ErrorObject } from 'ajv';
import type { Path } from './path.ts';
import {
  fitsNoBranch,
  missing,
  notOneOf,
  outOfRange,
  type Problem,
  unknownProperty,
  wrongFormat,
  wrongKind,
} from './problems.ts';

const COUNTED: Record<string, string> = { Length: 'character', Items: 'item', Properties: 'property' };

/** Unions of which it is said what each branch lacks; of further ones only that no branch fits. */
const MOST_UNIONS = 50;

/** @param errors of one validation with `allErrors`, in ajv's order: those of a union's branches before the union's. */
export function ajvProblems(errors: readonly ErrorObject[], root: unknown): Problem[] {
  return new AjvProblems(root).of(errors);
}

/** A value can have as many errors as it has parts: nothing here looks at each error for each other one. */
class AjvProblems {
  readonly #root: unknown;
  #unions = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  of(errors: readonly ErrorObject[]): Problem[] {
    const unions = new Set(errors.filter(isUnion).map(({ schemaPath }) => schemaPath));
    const listed = new Set(errors.filter(isList).map(({ instancePath }) => instancePath));
    return errors.flatMap((error) => {
      if (isWithinOne(error, unions)) return [];
      // Where the allowed values are listed, their type goes without saying.
      if (error.keyword === 'type' && listed.has(error.instancePath)) return [];
      return isUnion(error) ? this.#ofUnion(error, errors) : ofError(error, this.#root);
    });
  }

  #ofUnion(union: ErrorObject, errors: readonly ErrorObject[]): Problem[] {
    const path = pathOf(union, this.#root);
    if (union.params.passingSchemas) return [{ path, text: 'fits more than one of the allowed shapes' }];
    this.#unions += 1;
    if (this.#unions > MOST_UNIONS) return [{ path, text: 'fits none of the allowed shapes' }];
    const branches = Map.groupBy(
      errors.filter(
        ({ schemaPath, instancePath }) =>
          schemaPath.startsWith(`${union.schemaPath}/`) && isWithin(instancePath, union.instancePath),
      ),
      ({ schemaPath }) => schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0],
    );
    return fitsNoBranch(
      this.#root,
      path,
      [...branches.values()].map((branch) => this.of(branch)),
    );
  }
}

function isUnion({ keyword }: ErrorObject): boolean {
  return keyword === 'anyOf' || keyword === 'oneOf';
}

function isList({ keyword }: ErrorObject): boolean {
  return keyword === 'enum' || keyword === 'const';
}

/** Whether it is the error of a branch, of which its union says what counts. */
function isWithinOne({ schemaPath }: ErrorObject, unions: ReadonlySet<string>): boolean {
  if (unions.size === 0) return false;
  for (let end = schemaPath.lastIndexOf('/'); end > 0; end = schemaPath.lastIndexOf('/', end - 1)) {
    if (unions.has(schemaPath.slice(0, end))) return true;
  }
  return false;
}

function isWithin(instancePath: string, whole: string): boolean {
  return instancePath === whole || instancePath.startsWith(`${whole}/`);
}

function ofError(error: ErrorObject, root: unknown): Problem[] {
  const { keyword, params } = error;
  const path = pathOf(error, root);
  const limit = /^(?:min|max)(Length|Items|Properties)$/.exec(keyword)?.[1];
  if (limit !== undefined) {
    return [outOfRange(path, COUNTED[limit], keyword.startsWith('min') ? '>=' : '<=', params.limit)];
  }
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
    case 'dependencies':
      return [missing([...path, params.missingProperty])];
    case 'type':
      return [wrongKind(root, path, [params.type].flat())];
    case 'enum':
      return [notOneOf(root, path, params.allowedValues)];
    case 'const':
      return [notOneOf(root, path, [params.allowedValue])];
    case 'additionalProperties':
      return [unknownProperty(path, params.additionalProperty)];
    case 'unevaluatedProperties':
      return [unknownProperty(path, params.unevaluatedProperty)];
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return [outOfRange(path, undefined, params.comparison, params.limit)];
    case 'multipleOf':
      return [{ path, text: `must be a multiple of ${params.multipleOf}` }];
    case 'pattern':
      return [{ path, text: `must match pattern ${params.pattern}` }];
    case 'format':
      return [wrongFormat(path, params.format)];
    case 'uniqueItems':
      return [{ path, text: 'items must differ' }];
    case 'false schema':
      return [{ path, text: 'is not allowed' }];
    case 'if':
      // The errors of the branch that applies say more.
      return [];
    default:
      return [{ path, text: error.message ?? 'is not valid' }];
  }
}

/** Turns a JSON pointer into a path; only the value tells an index from a name made of digits. */
function pathOf({ instancePath }: ErrorObject, root: unknown): Path {
  const path: PropertyKey[] = [];
  let value = root;
  for (const token of instancePath.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(value) ? Number(name) : name);
    value =
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  return path;
}
