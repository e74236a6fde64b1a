import { activityInfo } from '@temporalio/activity';
import type { JobReceipt } from '../src/contract/jobs.ts';
import type { RememberSession, RetainSessions } from '../src/contract/sessions.ts';
import { ToolFactoryFailed } from '../src/flows/request-tools.ts';
import type { ActingAgent, CallOfAgent, ToolOfAgent } from '../src/protocol/agent-run.ts';
import { canonicalJson } from '../src/protocol/canonical-json.ts';
import type {
  DeliveredNotice,
  DeliverNotice,
  NotifyInput,
  RecordEntriesInput,
  VerifiedDecision,
  VerifyDecisionInput,
} from '../src/protocol/gate.ts';
import type {
  DeliveredJob,
  DeliverJobInput,
  EndedDetachedJob,
  JobEnded,
  RecordJobInput,
} from '../src/protocol/job.ts';
import {
  AWAIT_TURN,
  CALL_MODEL,
  CLOSE_CALL,
  DELETE_EXPIRED_SESSIONS,
  DELIVER_JOB,
  DELIVER_NOTICE,
  KEEP_MESSAGES,
  NOTIFY,
  READ_ANSWER,
  READ_DECISION,
  RECORD_ENTRIES,
  RECORD_JOB,
  REMEMBER_SESSION,
  RESERVED_PREFIX,
  SETTLE_STEP,
  VERIFY_DECISION,
} from '../src/protocol/names.ts';
import type {
  AwaitTurnInput,
  ReadAnswer,
  ReadAnswerInput,
  ReadDecision,
  ReadDecisionInput,
} from '../src/protocol/own-workflow.ts';
import type { ExpiredSessions } from '../src/protocol/retention.ts';
import type {
  CallModelInput,
  CloseCallInput,
  KeepMessagesInput,
  KeepMessagesResult,
  SettleStepInput,
  SettleStepResult,
  StepOutcome,
  SupersededStep,
  ToolCallInput,
  ToolCallResult,
} from '../src/protocol/step.ts';
import type { TurnResult } from '../src/protocol/turn.ts';
import { asStored } from '../src/store/engine/json-text.ts';
import type { Store } from '../src/store/store.ts';
import { NotDeployedHere, reachAgents } from './agents.ts';
import { recordEntries } from './approvals/claimed-entries.ts';
import { readDecision } from './approvals/confirm-agent.ts';
import { verifyDecision } from './approvals/verify-decision.ts';
import { type Attempt, attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import type { Deployment } from './deployment.ts';
import { deliverJob, recordJob } from './jobs/job-messages.ts';
import { type CallPlace, reportUnexpected } from './logging.ts';
import { awaitTurn } from './messages/await-turn.ts';
import { keepMessages } from './messages/incoming-messages.ts';
import { readAnswer } from './messages/read-answer.ts';
import { runSteps } from './model/chain.ts';
import { RateLimitedModels } from './model/rate-limited-models.ts';
import { settleStep } from './model/settle-step.ts';
import { deliverNotice } from './notices/deliver-notice.ts';
import { notify } from './notices/notify.ts';
import { deleteExpiredSessions } from './sessions/delete-expired-sessions.ts';
import { rememberSession } from './sessions/remember-session.ts';
import { StoreRetries } from './store-retries.ts';
import { runTool } from './tool/call.ts';
import { closeCall } from './tool/close-call.ts';

export interface HoldfastActivities {
  [CALL_MODEL]: (input: CallModelInput) => Promise<StepOutcome | SupersededStep>;
  [SETTLE_STEP]: (input: SettleStepInput) => Promise<SettleStepResult>;
  [KEEP_MESSAGES]: (input: KeepMessagesInput) => Promise<KeepMessagesResult>;
  [VERIFY_DECISION]: (input: VerifyDecisionInput) => Promise<VerifiedDecision>;
  [RECORD_ENTRIES]: (input: RecordEntriesInput) => Promise<void>;
  [NOTIFY]: (input: NotifyInput) => Promise<void>;
  [DELIVER_NOTICE]: (input: DeliverNotice) => Promise<DeliveredNotice>;
  [CLOSE_CALL]: (input: CloseCallInput) => Promise<ToolCallResult>;
  [DELETE_EXPIRED_SESSIONS]: (input: RetainSessions) => Promise<ExpiredSessions>;
  [REMEMBER_SESSION]: (input: RememberSession) => Promise<void>;
  [RECORD_JOB]: (input: RecordJobInput) => Promise<JobReceipt>;
  [DELIVER_JOB]: (input: DeliverJobInput) => Promise<DeliveredJob>;
  [AWAIT_TURN]: (input: AwaitTurnInput) => Promise<TurnResult>;
  [READ_ANSWER]: (input: ReadAnswerInput) => Promise<ReadAnswer>;
  [READ_DECISION]: (input: ReadDecisionInput) => Promise<ReadDecision>;
  /** Every other activity type is a tool's name. */
  default: (input: ToolCallInput) => Promise<ToolCallResult | JobEnded | EndedDetachedJob>;
}

type Body<Input, Result> = (
  dependencies: ActivityDependencies,
  input: Input,
  current: Attempt,
  place: CallPlace,
) => Promise<Result>;

export function createActivities(dependencies: ActivityDependencies): HoldfastActivities {
  const rateLimited = new RateLimitedModels();
  let retries: StoreRetries | undefined;
  const runs =
    <Input extends object, Result>(body: Body<Input, Result>) =>
    (input: Input): Promise<Result> => {
      const place = placeOf(input);
      return attempt(
        (current) => body(dependencies, input, current, place),
        reportUnexpected(dependencies, place),
      );
    };
  // Wraps activities that record what has happened.
  const recording = <Input extends object, Result>(body: Body<Input, Result>) =>
    runs<Input, Result>((own, input, current, place) => {
      retries ??= new StoreRetries(own);
      return body(retries.of(current, place), input, current, place);
    });
  const reaching = <Input extends ClaimedPlace, Result>(activity: (input: Input) => Promise<Result>) =>
    reachingAgents(dependencies, activity);
  return {
    [CALL_MODEL]: reaching(
      recording((own, input, current, place) => runSteps(own, input, { current, place, rateLimited })),
    ),
    [SETTLE_STEP]: reaching(recording(settleStep)),
    [KEEP_MESSAGES]: runs(keepMessages),
    [VERIFY_DECISION]: reaching(runs(verifyDecision)),
    [RECORD_ENTRIES]: runs(recordEntries),
    [NOTIFY]: runs(notify),
    [DELIVER_NOTICE]: runs(deliverNotice),
    [CLOSE_CALL]: reaching(recording(closeCall)),
    [DELETE_EXPIRED_SESSIONS]: runs(deleteExpiredSessions),
    [REMEMBER_SESSION]: runs(rememberSession),
    [RECORD_JOB]: runs(recordJob),
    [DELIVER_JOB]: reaching(runs(deliverJob)),
    [AWAIT_TURN]: runs(awaitTurn),
    [READ_ANSWER]: runs(readAnswer),
    [READ_DECISION]: runs(readDecision),
    default: reaching(recording(runTool)),
  };
}

/** Where the lines of an activity's log say that they come from, as far as its input says it. */
function placeOf(input: CallPlace & { identity?: CallPlace; turn?: CallPlace }): CallPlace {
  const { identity, turn, invocationId, callKey, step, agent } = input;
  const { app, sessionId } = identity ?? turn ?? input;
  const { activityType } = activityInfo();
  const tool = activityType.startsWith(RESERVED_PREFIX) ? input.tool : activityType;
  return { app, sessionId, invocationId, callKey, step, agent, tool };
}

/** The agents of tools are found at the beginning: toolsets that have them want to be waited for. */
function reachingAgents<Input extends ClaimedPlace, Result>(
  { deployment, store }: ActivityDependencies,
  activity: (input: Input) => Promise<Result>,
): (input: Input) => Promise<Result> {
  return async (input) => {
    if (input.within === undefined) return await activity(input);
    const within = await attempt(() => trustedPlace(store, input));
    const trusted = within === input.within ? input : { ...input, within };
    await reached(deployment, trusted);
    return await activity(trusted);
  };
}

/** The error that an agent isn't found is thrown where the agent is needed. */
async function reached(deployment: Deployment, place: Pick<ActingAgent, 'root' | 'within'>): Promise<void> {
  try {
    await reachAgents(deployment, place);
  } catch (error) {
    if (error instanceof NotDeployedHere || error instanceof ToolFactoryFailed) return;
    throw error;
  }
}

/** An agent's place as the input of an activity claims it, and the session that proves it. */
interface ClaimedPlace extends Pick<ActingAgent, 'root' | 'within'> {
  session?: string;
  /** First step of a tool's agent, whose session there may not be yet. */
  call?: Pick<CallOfAgent, 'session' | 'callKey'>;
  /** Where no step has answered yet. */
  identity?: { app: string; userId: string; sessionId: string };
}

/**
 * The way to an agent, as far as it is trusted: tools are made again only as the call that runs the agent was planned with.
 * Otherwise any input could call a factory with any arguments. A tool whose plan is not found is looked for among the agent's own
 * tools, like any other.
 */
async function trustedPlace(
  store: Pick<Store, 'turns' | 'sessions'>,
  claimed: ClaimedPlace,
): Promise<readonly ToolOfAgent[] | undefined> {
  const { within } = claimed;
  if (within?.some(({ made }) => made !== undefined) !== true) return within;
  const planned = await planningCall(store, claimed);
  if (canonicalJson(planned?.runs?.within) === canonicalJson(asStored(within))) return within;
  return within.map(({ agent, tool }) => ({ agent, tool }));
}

async function planningCall(
  store: Pick<Store, 'turns' | 'sessions'>,
  { session, call, identity }: ClaimedPlace,
) {
  if (session !== undefined) return await store.turns.findPlanningCall(session);
  if (call !== undefined) return await store.turns.findPlannedCall(call);
  const found = identity && (await store.sessions.find(identity));
  return found && (await store.turns.findPlanningCall(found.session));
}
