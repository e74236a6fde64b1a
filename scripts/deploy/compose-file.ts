import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';

const serviceSchema = z.object({
  image: z.string(),
  build: z.string().optional(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  user: z.string().optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
});

const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.unknown()).default({}),
});

/** One service of the Compose file, in the forms that the file uses. */
export type Service = z.infer<typeof serviceSchema>;
export type ComposeFile = z.infer<typeof composeSchema>;

export const COMPOSITION_FILE = fileURLToPath(new URL('../../docker-compose.yml', import.meta.url));

const REFERENCE = /\$(?:\$|\{([A-Z][A-Z0-9_]*)(?::([-?])([^{}$]*))?\}|)/g;

/** `docker-compose.yml` as data: anchors are merged, variables aren't filled in. */
export function readComposeFile(): unknown {
  return parse(readFileSync(COMPOSITION_FILE, 'utf8'), { merge: true });
}

/**
 * `docker-compose.yml` as Docker Compose reads it with these variables. Of interpolation it knows what the file uses:
 * `${NAME}`, `${NAME:-default}`, `${NAME:?why it is needed}` and `$$`.
 *
 * @throws Error for a variable that is needed and isn't set.
 */
export function loadComposeFile(env: NodeJS.ProcessEnv): ComposeFile {
  return composeSchema.parse(interpolated(readComposeFile(), env));
}

/** Names of the variables without which the file is refused. */
export function neededVariables(value: unknown): Set<string> {
  const names = new Set<string>();
  eachString(value, (text) => {
    for (const [, name, kind] of text.matchAll(REFERENCE))
      if (name !== undefined && kind === '?') names.add(name);
    return text;
  });
  return names;
}

/** Names of the variables that the file takes from its environment. */
export function variablesOf(value: unknown): Set<string> {
  const names = new Set<string>();
  eachString(value, (text) => {
    for (const [, name] of text.matchAll(REFERENCE)) if (name !== undefined) names.add(name);
    return text;
  });
  return names;
}

function interpolated(value: unknown, env: NodeJS.ProcessEnv): unknown {
  return eachString(value, (text) =>
    text.replace(REFERENCE, (whole, name?: string, kind?: string, rest = '') => {
      if (whole === '$$') return '$';
      if (name === undefined) throw new Error(`docker-compose.yml: this interpolation isn't known: ${text}`);
      const given = env[name] ?? '';
      if (given === '' && kind === '?') throw new Error(`docker-compose.yml needs ${name}: ${rest}`);
      return given || rest;
    }),
  );
}

function eachString(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => eachString(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, eachString(item, change)]));
}
