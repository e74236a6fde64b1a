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
