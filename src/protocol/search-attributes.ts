/**
 * Search attributes of every run, all of type Keyword. Unregistered ones fail the start of a workflow, so that
 * a worker registers them before it polls, or leaves all of them out.
 */
export const SEARCH_ATTRIBUTES = [
  'HoldfastApp',
  'HoldfastAgent',
  'HoldfastUser',
  'HoldfastSession',
  'HoldfastStatus',
] as const;

export type SearchAttributeName = (typeof SEARCH_ATTRIBUTES)[number];

/** A keyword over this many characters doesn't fit every visibility store. */
const LONGEST_KEYWORD = 255;

/** What a turn's run is found by. */
export function searchAttributeValues(turn: {
  app: string;
  userId: string;
  sessionId: string;
  agent?: string | undefined;
}): Partial<Record<SearchAttributeName, string>> {
  const values: Partial<Record<SearchAttributeName, string>> = {
    HoldfastApp: turn.app,
    HoldfastUser: turn.userId,
    HoldfastSession: turn.sessionId,
    HoldfastStatus: 'running',
    ...(turn.agent === undefined ? {} : { HoldfastAgent: turn.agent }),
  };
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value.slice(0, LONGEST_KEYWORD)]),
  );
}
