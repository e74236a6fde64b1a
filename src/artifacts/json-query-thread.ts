import { parentPort, workerData } from 'node:worker_threads';
import { outlineOf, type PathMatch, queryJson } from './json-path.ts';

const MOST_MATCHES = 1_000;

/** Start argument of the thread: a JSON document, and what is asked of it. */
export interface JsonQuery {
  bytes: Uint8Array;
  /** @default its outline is asked for */
  path?: string;
  /** Characters of an answer. */
  most: number;
}

/** The thread's only message. */
export type JsonAnswer =
  | { problem: string }
  | { found: { matches: PathMatch[]; truncated?: true } | Record<string, unknown> };

parentPort?.postMessage(answer(workerData as JsonQuery));

function answer({ bytes, path, most }: JsonQuery): JsonAnswer {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { problem: 'it is not the JSON that its type says; use grep, lines or slice' };
  }
  return path === undefined ? outlined(document, most) : matching(document, path, most);
}

function outlined(document: unknown, most: number): JsonAnswer {
  const found = outlineOf(document);
  const { length } = JSON.stringify(found);
  if (length <= most) return { found };
  return {
    problem: `the schema has ${length} characters, more than the ${most} of an answer; use jsonpath or head`,
  };
}

function matching(document: unknown, path: string, most: number): JsonAnswer {
  const queried = queryJson(document, path, MOST_MATCHES);
  if ('problem' in queried) return queried;
  let left = most;
  const matches: PathMatch[] = [];
  for (const match of queried.matches) {
    const { length } = JSON.stringify(match);
    left -= length;
    if (left < 0) {
      if (matches.length > 0) return { found: { matches, truncated: true } };
      return {
        problem: `the first match, ${match.path}, has ${length} characters, more than the ${most} of an answer; name places inside of it`,
      };
    }
    matches.push(match);
  }
  return { found: { matches, ...(queried.isCut ? { truncated: true } : {}) } };
}
