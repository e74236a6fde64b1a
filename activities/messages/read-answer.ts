import { isResultSensitive, MASK, type Sensitive, shownArguments } from '../../src/approvals/sensitive.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { Content, FunctionCall, Part } from '../../src/events/content.ts';
import { sensitiveIn } from '../../src/plugins/withheld.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { runKeyOfCallKey } from '../../src/protocol/identity.ts';
import { defined, isRecord } from '../../src/protocol/json.ts';
import type { ReadAnswer, ReadAnswerInput } from '../../src/protocol/own-workflow.ts';
import { PAYLOAD_LIMIT } from '../../src/protocol/sizes.ts';
import { knownCaller } from '../agents.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { type Deployment, rootAgentOf } from '../deployment.ts';
import { mayBeElsewhere, ownTool } from '../tool/find-tool.ts';

/** Events that are looked at from the turn's end: its last ones may say nothing. */
const LATEST = 100;

/**
 * `holdfast.readAnswer`: what the result of a turn only refers to, as far as it may travel. It comes from the turn as the store has it,
 * not from the input: every program with Temporal access may ask.
 */
export async function readAnswer(
  { store, deployment }: ActivityDependencies,
  { app, userId, sessionId, invocationId, key, content: withContent }: ReadAnswerInput,
): Promise<ReadAnswer> {
  const names = { app, userId, sessionId };
  const recorded = await store.turns.findInvocation(names, invocationId);
  let left = PAYLOAD_LIMIT;
  const whatFits = <T>(value: T | undefined): T | undefined => {
    const bytes = Buffer.byteLength(JSON.stringify(value) ?? '');
    if (bytes > left) return undefined;
    left -= bytes;
    return value;
  };
  const value = key === undefined ? undefined : whatFits(await referredTo(key));
  const content = withContent ? whatFits(await lastContent()) : undefined;
  return {
    v: PROTOCOL_VERSION,
    ...defined({ value, content }),
  };

  async function referredTo(wanted: string): Promise<unknown> {
    const { text, output } = recorded?.outcome ?? {};
    if (typeof text === 'object' && text.key === wanted)
      return await store.turns.readReference(names, wanted);
    // A workflow has named its call's outcome. The digest of a secret result isn't known outside.
    const reference = output !== undefined && 'ref' in output ? output.ref : undefined;
    if (reference?.key !== wanted || runKeyOfCallKey(wanted) !== recorded?.invocationId) return undefined;
    const found = await store.turns.readReference(names, wanted);
    return found !== undefined && digestOf(found) === reference.digest ? found : undefined;
  }

  async function lastContent(): Promise<Content | undefined> {
    if (recorded?.outcome === undefined) return undefined;
    const { from, to } = recorded;
    const after = Math.max(from - 1, to - LATEST, 0);
    const rows = await store.sessions.readEvents({ ...names, after, limit: LATEST });
    const own = rows.filter(({ seq, event }) => seq <= to && event.invocationId === recorded.invocationId);
    const last = own.findLast(({ event }) => event.author !== 'user' && event.content !== undefined)?.event;
    if (last?.content === undefined) return undefined;
    return shownContent(deployment, { app, agent: last.author ?? '' }, last.content);
  }
}

interface Speaker {
  app: string;
  agent: string;
}

/** An agent's content for a history, without the secrets of its tools. */
function shownContent(deployment: Deployment, agent: Speaker, content: Content): Content {
  if (content.parts === undefined) return content;
  return { ...content, parts: content.parts.map((part) => shownPart(deployment, agent, part)) };
}

function shownPart(deployment: Deployment, agent: Speaker, part: Part): Part {
  const { functionCall, functionResponse } = part;
  if (functionCall !== undefined) {
    const { args = {}, ...call } = functionCall;
    const shown = shownArguments(args, sensitiveOf(deployment, agent, functionCall));
    return { ...part, functionCall: isRecord(shown) ? { ...call, args: shown } : call };
  }
  if (functionResponse?.response === undefined) return part;
  const { response } = functionResponse;
  const failed = Object.hasOwn(response, 'error');
  if (!isResultSensitive(sensitiveOf(deployment, agent, functionResponse), failed)) return part;
  const withheld = { [failed ? 'error' : 'result']: MASK };
  return { ...part, functionResponse: { ...functionResponse, response: withheld } };
}

/** Where a toolset may have the tool, nobody here knows what it keeps to itself. */
function sensitiveOf(
  deployment: Deployment,
  { app, agent: speaker }: Speaker,
  { name = '', id: callId = name, args = {} }: FunctionCall,
): Sensitive {
  const named = { agent: speaker };
  const agent =
    knownCaller(deployment, { ...named, root: rootAgentOf(deployment, app) }) ??
    knownCaller(deployment, named);
  if (agent === undefined) return true;
  const tool = ownTool(agent, { name, callId });
  if (tool !== undefined) return sensitiveIn(tool, args);
  return mayBeElsewhere(deployment, agent, { name, callId });
}
