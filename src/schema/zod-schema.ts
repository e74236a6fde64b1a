import { isZod3Schema } from './zod3-schema.ts';
import { isZod4Schema } from './zod4-schema.ts';

export function isZodSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (isZod4Schema(value) || isZod3Schema(value));
}
