import type { Content, Part } from '../../src/events/content.ts';
import {
  type Discretion,
  discretionOf,
  isResultWithheld,
  shownArguments,
  WITHHELD,
  WITHHOLDS_ALL,
} from '../../src/plugins/withheld.ts';
import { isRecord } from '../../src/schema/kind-of.ts';
import { knownCaller } from '../acting-agent.ts';
import { type Deployment, rootAgentOf } from '../deployment.ts';
import { mayBeElsewhere, ownTool } from '../tool/call-tool.ts';

interface Speaker {
  app: string;
  agent: string;
}

/** What an agent has said, for a history: without what its tools keep to themselves. */
export function shownContent(deployment: Deployment, agent: Speaker, content: Content): Content {
  if (content.parts === undefined) return content;
  return { ...content, parts: content.parts.map((part) => shownPart(deployment, agent, part)) };
}

function shownPart(deployment: Deployment, agent: Speaker, part: Part): Part {
  const { functionCall, functionResponse } = part;
  if (functionCall !== undefined) {
    const { args = {}, ...call } = functionCall;
    const shown = shownArguments(discretionOfCall(deployment, agent, functionCall), args);
    return { ...part, functionCall: isRecord(shown) ? { ...call, args: shown } : call };
  }
  const { response } = functionResponse ?? {};
  if (response === undefined) return part;
  const failed = Object.hasOwn(response, 'error');
  if (!isResultWithheld(discretionOfCall(deployment, agent, functionResponse ?? {}), failed)) return part;
  const withheld = { [failed ? 'error' : 'result']: WITHHELD };
  return { ...part, functionResponse: { ...functionResponse, response: withheld } };
}

/** Where a toolset may have the tool, nobody here knows what it keeps to itself. */
function discretionOfCall(
  deployment: Deployment,
  { app, agent: speaker }: Speaker,
  { name = '', id: callId = name }: { name?: string; id?: string },
): Discretion {
  const named = { agent: speaker };
  const agent =
    knownCaller(deployment, { ...named, root: rootAgentOf(deployment, app) }) ??
    knownCaller(deployment, named);
  if (agent === undefined) return WITHHOLDS_ALL;
  const tool = ownTool(agent, { name, callId });
  if (tool !== undefined) return discretionOf(tool);
  return mayBeElsewhere(deployment, agent, { name, callId }) ? WITHHOLDS_ALL : { sensitive: false };
}
