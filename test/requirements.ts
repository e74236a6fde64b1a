import { ADK } from './requirements/adk.ts';
import { AGENTS } from './requirements/agents.ts';
import { APIS } from './requirements/apis.ts';
import { APPROVALS } from './requirements/approvals.ts';
import { ARTIFACTS } from './requirements/artifacts.ts';
import { CHANNELS } from './requirements/channels.ts';
import { COMMANDS } from './requirements/commands.ts';
import { DURABILITY } from './requirements/durability.ts';
import { JOBS } from './requirements/jobs.ts';
import { MEMORY } from './requirements/memory.ts';
import { OAUTH } from './requirements/oauth.ts';
import { OPERATIONS } from './requirements/operations.ts';
import { OUTSIDE_TOOLS } from './requirements/outside-tools.ts';
import { PLANNED } from './requirements/planned.ts';
import type { Rows, Source, Tier } from './requirements/row.ts';
import { SEARCH } from './requirements/search.ts';
import { TURNS } from './requirements/turns.ts';
import { WORKSPACE } from './requirements/workspace.ts';

/**
 * One thing that Holdfast promises. Tests that show it name its id at the end of their title, in brackets:
 * `test('a cancelled turn leaves … [turn.cancel]', …)`.
 */
export interface Requirement {
  id: string;
  source: Source;
  /** In one sentence. */
  behaviour: string;
  /** No test has to show it yet. */
  isPlanned: boolean;
  tier: Tier;
}

/** What Holdfast promises. */
export const REQUIREMENTS: readonly Requirement[] = [
  ...[
    TURNS,
    DURABILITY,
    OPERATIONS,
    ADK,
    APPROVALS,
    ARTIFACTS,
    MEMORY,
    OUTSIDE_TOOLS,
    JOBS,
    AGENTS,
    APIS,
    CHANNELS,
    OAUTH,
    WORKSPACE,
    COMMANDS,
    SEARCH,
  ].flatMap((rows) => requirementsOf(rows, false)),
  ...requirementsOf(PLANNED, true),
];

function requirementsOf(rows: Rows, isPlanned: boolean): Requirement[] {
  const requirements: Requirement[] = [];
  for (const [id, [source, behaviour, tier = 'test']] of Object.entries(rows)) {
    requirements.push({ id, source, behaviour, isPlanned, tier });
  }
  return requirements;
}
