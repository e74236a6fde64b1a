import { isDeepStrictEqual } from 'node:util';
import type { BaseTool, LlmRequest } from './base-tool.ts';

type Entry = NonNullable<NonNullable<LlmRequest['config']>['tools']>[number];
type Request = Pick<LlmRequest, 'config'>;

interface PassiveTool {
  tool: BaseTool;
  /** Entries that the tool has put into `config.tools`. */
  entries: readonly Entry[];
}

const passiveIn = new WeakMap<Request, Map<string, PassiveTool>>();

/**
 * Has a tool change the request. One that the model doesn't call stands in no `toolsDict`: it is remembered, so that it can be
 * found in the request and be taken out of it.
 */
export async function processedBy(
  tool: BaseTool,
  request: Request,
  process: () => Promise<void>,
): Promise<void> {
  const before = nativeEntries(request);
  await process();
  if (tool._getDeclaration() !== undefined) return;
  const entries = nativeEntries(request).filter((entry) => !includes(before, entry));
  const known = passiveIn.get(request) ?? new Map<string, PassiveTool>();
  passiveIn.set(request, known.set(tool.name, { tool, entries }));
}

/** The tools of a request that the model doesn't call, by name. */
export function passiveTools(request: Request): ReadonlyMap<string, { tool: BaseTool }> {
  return passiveIn.get(request) ?? new Map();
}

/** Takes out the entries of such a tool in `config.tools`; its other changes stay. False if there are no entries. */
export function removePassive(request: Request, name: string): boolean {
  const known = passiveIn.get(request)?.get(name);
  if (known === undefined) return false;
  passiveIn.get(request)?.delete(name);
  const { config } = request;
  if (config?.tools === undefined) return true;
  const left = config.tools.filter((entry) => !includes(known.entries, entry));
  if (left.length > 0) config.tools = left;
  else delete config.tools;
  return true;
}

function nativeEntries({ config }: Request): readonly Entry[] {
  return (config?.tools ?? []).filter((entry) => !('functionDeclarations' in entry));
}

function includes(entries: readonly Entry[], entry: Entry): boolean {
  return entries.some((each) => isDeepStrictEqual(each, entry));
}
