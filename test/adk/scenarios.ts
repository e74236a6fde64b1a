import type { Scenario } from './scenario.ts';
import { AGENT_CALLBACKS } from './scenarios/agent-callbacks.ts';
import { AGENT_TOOLS } from './scenarios/agent-tools.ts';
import { ARTIFACTS } from './scenarios/artifacts.ts';
import { BASICS } from './scenarios/basics.ts';
import { COMPACTIONS } from './scenarios/compactions.ts';
import { CONFIRMATIONS } from './scenarios/confirmations.ts';
import { ENDINGS } from './scenarios/endings.ts';
import { EXAMPLES } from './scenarios/examples.ts';
import { HISTORY } from './scenarios/history.ts';
import { INPUTS } from './scenarios/inputs.ts';
import { LATE_RESPONSES } from './scenarios/late-responses.ts';
import { MEMORIES } from './scenarios/memories.ts';
import { MODEL_ANSWERS } from './scenarios/model-answers.ts';
import { MODEL_CALLBACKS } from './scenarios/model-callbacks.ts';
import { OUTPUTS } from './scenarios/outputs.ts';
import { PLUGIN_EVENTS } from './scenarios/plugin-events.ts';
import { PLUGIN_FAILURES } from './scenarios/plugin-failures.ts';
import { PLUGINS } from './scenarios/plugins.ts';
import { PORTED_AGENTS } from './scenarios/ported-agents.ts';
import { REQUESTS } from './scenarios/requests.ts';
import { RESULTS } from './scenarios/results.ts';
import { STATE } from './scenarios/state.ts';
import { TOOL_CALLBACKS } from './scenarios/tool-callbacks.ts';
import { TRANSFERS } from './scenarios/transfers.ts';
import { TREES } from './scenarios/trees.ts';

/** Scenarios that both packages play. */
export const SCENARIOS: readonly Scenario[] = [
  ...BASICS,
  ...ARTIFACTS,
  ...MEMORIES,
  ...COMPACTIONS,
  ...STATE,
  ...RESULTS,
  ...MODEL_CALLBACKS,
  ...TOOL_CALLBACKS,
  ...AGENT_CALLBACKS,
  ...PLUGINS,
  ...PLUGIN_EVENTS,
  ...PLUGIN_FAILURES,
  ...OUTPUTS,
  ...LATE_RESPONSES,
  ...MODEL_ANSWERS,
  ...REQUESTS,
  ...HISTORY,
  ...ENDINGS,
  ...CONFIRMATIONS,
  ...INPUTS,
  ...TREES,
  ...PORTED_AGENTS,
  ...TRANSFERS,
  ...AGENT_TOOLS,
  ...EXAMPLES,
];
