import type { FieldViolation } from './gemini-error.ts';
import { type Json, snakeCase } from './gemini-json.ts';

export function unknownNames(message: Json, known: ReadonlySet<string>, path: string): FieldViolation[] {
  return Object.keys(message)
    .filter((name) => !known.has(name))
    .map((name) => {
      const where = path === '' ? '' : ` at '${path}'`;
      return {
        field: path,
        description: `Invalid JSON payload received. Unknown name ${JSON.stringify(name)}${where}: Cannot find field.`,
      };
    });
}

export function invalidValue(path: string, type: string, value: unknown): FieldViolation {
  const field = snakeCase(path);
  return { field, description: `Invalid value at '${field}' (${type}), ${JSON.stringify(value)}` };
}
