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

/** @param errors of one validation with `allErrors`, in ajv's order: those of a union's branches before the union's. */
export function ajvProblems(errors: readonly ErrorObject[], root: unknown): Problem[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  const branchOf = (error: ErrorObject) =>
    unions.find((union) => union !== error && error.schemaPath.startsWith(`${union.schemaPath}/`));
  return errors
    .filter((error) => branchOf(error) === undefined && !isToldByValues(error, errors))
    .flatMap((error) => (unions.includes(error) ? ofUnion(error, errors, root) : ofError(error, root)));
}

function ofUnion(union: ErrorObject, errors: readonly ErrorObject[], root: unknown): Problem[] {
  const path = pathOf(union, root);
  if (union.params.passingSchemas) return [{ path, text: 'fits more than one of the allowed shapes' }];
  const branches = Map.groupBy(
    errors.filter(
      ({ schemaPath, instancePath }) =>
        schemaPath.startsWith(`${union.schemaPath}/`) && isWithin(instancePath, union.instancePath),
    ),
    ({ schemaPath }) => schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0],
  );
  return fitsNoBranch(
    root,
    path,
    [...branches.values()].map((branch) => ajvProblems(branch, root)),
  );
}

/** Where the allowed values are listed, their type goes without saying. */
function isToldByValues({ keyword, instancePath }: ErrorObject, errors: readonly ErrorObject[]): boolean {
  return (
    keyword === 'type' &&
    errors.some(
      (other) =>
        (other.keyword === 'enum' || other.keyword === 'const') && other.instancePath === instancePath,
    )
  );
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
