import { isRecord } from '../protocol/json.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import type { ToolCallRecord } from '../tools/invocation-context.ts';
import { type ArtifactConstructor, formOf, type SpooledForm } from '../tools/spooled/spool-options.ts';
import { SPOOLED_FOLDER, SpooledArtifact } from '../tools/spooled/spooled-artifact.ts';

/**
 * The tools that query the results of these tools which the turn has spooled by now: none before the first one, and gone with the turn.
 *
 * @param calls of the turn that have their outcome
 */
export function queriesOf(tools: Iterable<BaseTool>, calls: readonly ToolCallRecord[]): BaseTool[] {
  const spooling = new Map(
    [...tools].filter(({ spool }) => spool !== undefined).map((tool) => [tool.name, tool]),
  );
  if (spooling.size === 0) return [];
  const forms = new Map<ArtifactConstructor<BaseTool>, Set<SpooledForm>>();
  for (const { name, response } of calls) {
    const spool = spooling.get(name)?.spool;
    if (spool === undefined) continue;
    for (const mimeType of spooledTypes(name, response)) {
      const forges = spool.artifactConstructor ?? SpooledArtifact;
      const known = forms.get(forges) ?? new Set();
      forms.set(forges, known.add(formOf(mimeType)));
    }
  }
  const queries = new Map<string, BaseTool>();
  for (const [forges, known] of forms) {
    for (const tool of forged(forges, known)) if (!queries.has(tool.name)) queries.set(tool.name, tool);
  }
  return [...queries.values()];
}

/** The tool of this name that queries results of these tools, whether it is offered or not. */
export function queryNamed(tools: Iterable<BaseTool>, name: string): BaseTool | undefined {
  const constructors = new Set(
    [...tools].flatMap(({ spool }) => (spool ? [spool.artifactConstructor ?? SpooledArtifact] : [])),
  );
  for (const forges of constructors) {
    const found = forged(forges).find((tool) => tool.name === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

const made = new WeakMap<object, Map<string, readonly BaseTool[]>>();

/** Made once for each class and set of forms. */
function forged(
  forges: ArtifactConstructor<BaseTool>,
  forms?: ReadonlySet<SpooledForm>,
): readonly BaseTool[] {
  const key = forms === undefined ? '' : [...forms].sort().join();
  const known = made.get(forges) ?? new Map<string, readonly BaseTool[]>();
  made.set(forges, known);
  const tools = known.get(key) ?? forges.forgeTools(forms);
  known.set(key, tools);
  return tools;
}

/** Media types of the results that this response of a tool has handles of. */
function spooledTypes(tool: string, response: Record<string, unknown>): string[] {
  const handles = Array.isArray(response.artifacts) ? response.artifacts : [response];
  return handles.flatMap((handle) =>
    isRecord(handle) &&
    typeof handle.artifact === 'string' &&
    handle.artifact.startsWith(`${SPOOLED_FOLDER}${tool}/`) &&
    typeof handle.mimeType === 'string'
      ? [handle.mimeType]
      : [],
  );
}
