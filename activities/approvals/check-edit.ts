import { withFixed } from '../../src/approvals/edited-arguments.ts';
import { coversTerms } from '../../src/approvals/edited-terms.ts';
import { transcriptView } from '../../src/flows/transcript.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { INLINE_LIMIT } from '../../src/protocol/sizes.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import type { ApprovalRow } from '../../src/store/store.ts';
import { placeOfCall } from '../../src/store/turns/call-place.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { isToolError } from '../../src/tools/tool-error.ts';
import { questionOf, termsOf } from '../../src/tools/tool-gate.ts';
import { callerOf } from '../acting-agent.ts';
import { afterTime } from '../after-time.ts';
import { assertOfApp } from '../app-of-agent.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { pluginsOf } from '../deployment.ts';
import type { NamedAgent } from '../find-agent.ts';
import { callLogger } from '../logging.ts';
import { isHadByNobody, NotDeployedHere } from '../not-deployed-here.ts';
import { whicheverComesFirst } from '../race.ts';
import { callContext, contextInitOf } from '../tool/call-context.ts';
import { ownTool, searchTool } from '../tool/call-tool.ts';
import { ToolCallbacks } from '../tool/tool-callbacks.ts';
import { describeFailure, storeErrorIn } from '../tool/tool-failure.ts';

/** Milliseconds that the tool and the callbacks may take. */
const CHECK_TIME = 20_000;
/** JSON bytes of arguments as they travel with a decision: through the history, several times. */
const MOST_BYTES = 8 * INLINE_LIMIT;

export interface EditToCheck {
  dependencies: ActivityDependencies;
  /** Of the activity that checks it: names who has asked for the call. */
  input: NamedAgent;
  request: ApprovalRow;
  current: Attempt;
}

/**
 * Why edited arguments may not run: the tool refuses them, or a callback would have rewritten or answered them. Before-tool
 * callbacks have seen the arguments that were shown, and nobody has seen these.
 *
 * @throws NotDeployedHere while another worker may have the tool.
 */
export async function refusalOfEdit(
  edit: EditToCheck,
  given: Record<string, unknown>,
): Promise<string | undefined> {
  const args = withFixed(edit.request, given);
  const bytes = Buffer.byteLength(JSON.stringify(given));
  if (bytes > MOST_BYTES)
    return `args: ${bytes} bytes of JSON, and at most ${MOST_BYTES} can be sent with a decision`;
  if (digestOf(asStored(args)) !== digestOf(args)) {
    return 'args: NUL characters and lone surrogates are kept by no database: leave them out';
  }
  const late = afterTime(CHECK_TIME);
  try {
    return await whicheverComesFirst(check(edit, args, late.signal), [
      [edit.current.signal, edit.current.aborted],
      [late.signal, () => new Error(`no answer within ${CHECK_TIME} ms`)],
    ]);
  } catch (error) {
    if (edit.current.signal.aborted || storeErrorIn(error) !== undefined) throw error;
    if (error instanceof NotDeployedHere && !isHadByNobody(error)) throw error;
    const { dependencies, request } = edit;
    const { message } = describeFailure(error);
    const { app, sessionId, invocationId, callKey, agent, tool } = request;
    callLogger(dependencies, { app, sessionId, invocationId, callKey, agent, tool }).warn(
      'edited arguments could not be checked',
      dependencies.conceal || request.sensitive !== false ? {} : { problem: message },
    );
    return 'args: they could not be checked, and so may not run; the log of the worker says why';
  } finally {
    late.clear();
  }
}

async function check(
  { dependencies, input, request, current }: EditToCheck,
  args: Record<string, unknown>,
  abortSignal: AbortSignal,
): Promise<string | undefined> {
  const { deployment, store, transcripts } = dependencies;
  const { session, runKey, invocationId, callKey, callId, tool: name, app } = request;
  assertOfApp(deployment, app, input);
  const agent = callerOf(deployment, input);
  const { step } = placeOfCall(callKey);
  const peeked = await store.peekStep({ session, invocationId, runKey, step });
  const { names, state, userContent } = peeked;
  const { toolEdits: edits } = peeked.remembered;
  const callbacks = new ToolCallbacks(agent, pluginsOf(deployment, app));
  const isAsked = callbacks.has('beforeToolCallback');
  const transcript = isAsked
    ? await transcripts.current(session, names, (after) =>
        store.readEvents({ ...names, after, limit: Number.MAX_SAFE_INTEGER }),
      )
    : undefined;
  const init = contextInitOf({
    ...{ names, invocationId, userContent, agent, state, abortSignal },
    transcript: transcript && transcriptView(transcript, invocationId),
  });
  const own = ownTool(agent, { name, callId });
  const tool =
    own !== undefined && edits.length === 0
      ? own
      : await searchTool({ deployment, agent, init, edits, current, time: CHECK_TIME }, name, own);
  const call = { callId, callKey, attempt: 1, once: NOTHING_ONCE, heartbeat: () => undefined };
  const context = callContext(init, call, abortSignal);
  const refused = (await refusalOfTool(tool, args)) ?? (await refusalOfTerms(tool, request, args, context));
  if (refused !== undefined || !isAsked) return refused;
  const seen = structuredClone(args);
  const answer = await callbacks.before({ tool, args: seen, context });
  if (answer !== undefined)
    return 'args: a before-tool callback answers such a call itself, and keeps it from running';
  if (digestOf(seen) === digestOf(args)) return undefined;
  return 'args: a before-tool callback would change them, and what runs must be what was approved';
}

/** Whoever may approve 100 must not be able to make 10,000 of it. */
async function refusalOfTerms(
  tool: BaseTool,
  { terms }: ApprovalRow,
  args: Record<string, unknown>,
  context: Context,
): Promise<string | undefined> {
  const question = await questionOf(tool, args, context);
  if (question === undefined || coversTerms(terms, question.terms ?? termsOf(tool))) return undefined;
  return 'args: a call with these takes more approvals, or those of other people: it has to be asked for itself';
}

/** It is a check: nothing is kept of it. */
const NOTHING_ONCE = { get: () => undefined, put: async (_key: string, value: unknown) => value };

async function refusalOfTool(tool: BaseTool, args: Record<string, unknown>): Promise<string | undefined> {
  try {
    await tool.checkArguments(structuredClone(args));
    return undefined;
  } catch (error) {
    if (!isToolError(error)) throw error;
    // What a schema of the user's own says may quote what it was given.
    return tool.durable.sensitive === false ? `args: ${error.message}` : 'args: the tool refuses them';
  }
}
