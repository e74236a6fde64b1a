import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertToolNames, type BaseToolset, passes, type ToolPredicate } from './base-toolset.ts';
import { WrappedToolset } from './wrapped-toolset.ts';

/**
 * A toolset with those tools of another that a predicate passes, found out at every request. Without a context, as outside of
 * an invocation, it has all of them. Semantics: `FilterToolset` of adk-go.
 *
 * @throws DefinitionError for what is no toolset or no function.
 * @example
 * const safe = filterToolset(warehouse, (tool, context) => tool.isReadOnly || context.state.get('user:role') === 'admin');
 */
export function filterToolset(toolset: BaseToolset, predicate: ToolPredicate): BaseToolset {
  if (typeof predicate !== 'function') {
    throw new DefinitionError({
      owner: 'filterToolset',
      field: 'predicate',
      problem: `expected a function of a tool and a context, got ${kindOf(predicate)}; for names write stringPredicate(names)`,
    });
  }
  return new WrappedToolset('filterToolset', toolset, (tools, context) =>
    context === undefined ? tools : tools.filter((tool) => passes(predicate, tool, context)),
  );
}

/**
 * A predicate that passes tools by name; an empty list passes none. Semantics: `AllowedToolsPredicate` of adk-go.
 *
 * @throws DefinitionError for anything but a list of names.
 * @example filterToolset(warehouse, stringPredicate(['listShelves']))
 */
export function stringPredicate(names: readonly string[]): ToolPredicate {
  assertToolNames('stringPredicate', 'names', names);
  const allowed = new Set(names);
  return (tool) => allowed.has(tool.name);
}
