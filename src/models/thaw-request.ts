import type { Content } from '../events/content.ts';
import { copyPlain, isPlain } from '../schema/copy-plain.ts';
import type { ModelRequest } from './llm-request.ts';

const own = new WeakSet<Content>();

/**
 * Contents and declarations of a request are frozen and shared with other requests, which costs an agent nothing that has no
 * user code about its requests. User code may edit them in place, as ADK programs do: it is given copies, which are this
 * request's own.
 */
export function thawRequest({ contents, config }: ModelRequest): void {
  for (const [index, content] of contents.entries()) {
    if (own.has(content)) continue;
    const copy = thawed(content);
    own.add(copy);
    contents[index] = copy;
  }
  if (config?.tools !== undefined) config.tools = config.tools.map(thawed);
}

function thawed<T>(value: T): T {
  return holdsFrozen(value) ? copyPlain(value) : value;
}

function holdsFrozen(value: unknown): boolean {
  if (!Array.isArray(value) && !isPlain(value)) return false;
  return Object.isFrozen(value) || Object.values(value).some(holdsFrozen);
}
