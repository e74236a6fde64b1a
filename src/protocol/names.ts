import type { ErrorCode } from '../contract/error-codes.ts';
import { defined } from './json.ts';

/** Task queue that workers poll and clients start turns on unless told otherwise. */
export const DEFAULT_TASK_QUEUE = 'holdfast';

/** Workflow of a turn, and of each agent that runs as a child of one. */
export const AGENT_TURN = 'agentTurn';
/** Workflow of a job that outlives its turn. */
export const TOOL_JOB = 'toolJob';
/** Workflow of a notice that goes on being told beside its turn. */
export const DELIVER_NOTICE_WORKFLOW = 'deliverNotice';

export const CALL_MODEL = 'holdfast.callModel';
export const SETTLE_STEP = 'holdfast.settleStep';
export const KEEP_MESSAGES = 'holdfast.keepMessages';
/** Settles a call that a person has not let run. */
export const CLOSE_CALL = 'holdfast.closeCall';
export const VERIFY_DECISION = 'holdfast.verifyDecision';
export const RECORD_ENTRIES = 'holdfast.recordEntries';
export const NOTIFY = 'holdfast.notify';
/** Goes on with what {@link NOTIFY} could not tell. */
export const DELIVER_NOTICE = 'holdfast.deliverNotice';
export const RECORD_JOB = 'holdfast.recordJob';
export const DELIVER_JOB = 'holdfast.deliverJob';
/** Sends a message to a session that answers another one, and waits for its turn: for workflows of other bundles. */
export const AWAIT_TURN = 'holdfast.awaitTurn';
/** Reads what the result of a turn only refers to: for workflows of other bundles. */
export const READ_ANSWER = 'holdfast.readAnswer';
/** Reads what people have decided: for workflows of other bundles. */
export const READ_DECISION = 'holdfast.readDecision';

/** Agent of each worker that asks what users' own workflows ask, and its tool. */
export const CONFIRM_AGENT = 'holdfast_confirm';
export const CONFIRM_TOOL = 'confirm';

/** Activity types, and so tool names, that start like this belong to Holdfast. */
export const RESERVED_PREFIX = 'holdfast.';

/** Signals, and updates of the same names that validate and answer. */
export const SEND_MESSAGE = 'sendMessage';
export const CANCEL_CALL = 'cancelCall';
export const INTERRUPT = 'interrupt';
export const CONFIRM = 'confirm';
export const PROVIDE_INPUT = 'provideInput';
export const PROVIDE_CREDENTIAL = 'provideCredential';

/** Update: what a request's timer does comes to pass now. For tests. */
export const EXPIRE_REQUEST = 'holdfast.expire';

/** Signal to the workflow that waits for a job: its progress. */
export const JOB_PROGRESS = 'holdfast.progress';

/** Type of the failure of {@link RECORD_JOB} where the store has no such job. */
export const UNKNOWN_JOB = 'HOLDFAST_UNKNOWN_JOB' satisfies ErrorCode;

/** Update: what a job's deadline does comes to pass now. For tests. */
export const EXPIRE_JOB = 'holdfast.expireJob';

/** Signal from a call's activity to its turn: a question stands open while the activity goes on, or has ended. */
export const HOLD_QUESTION = 'holdfast.hold';

/** Signal from a child to its root: it waits, or goes on. */
export const CHILD_STATE = 'holdfast.child';

/** Signal from a turn to the workflow that has started it: the first of its invocations has ended, and others go on. */
export const TURN_ENDED = 'holdfast.turnEnded';

export const STATUS_QUERY = 'status';

/** Signal from the activity of a step to its turn: it runs calls itself, and they take a while. */
export const INLINE_CALLS = 'holdfast.inlineCalls';

/** Query of that activity: keys of those calls that somebody has cancelled. */
export const CANCELLED_CALLS_QUERY = 'holdfast.cancelledCalls';

/** Type of an attempt's failure that is the tool's own; all others are the infrastructure's. */
export const TOOL_FAILED = 'ToolFailed';

/** Workflow that deletes the sessions of an app that are older than its retention, started by a schedule. */
export const RETAIN_SESSIONS = 'retainSessions';
export const DELETE_EXPIRED_SESSIONS = 'holdfast.deleteExpiredSessions';

/** Workflow that adds a session to the memory of its app, started by each turn that ends. */
export const REMEMBER_SESSION_WORKFLOW = 'rememberSession';
export const REMEMBER_SESSION = 'holdfast.rememberSession';

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

/** Search attributes of a turn's run. */
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
    ...defined({ HoldfastAgent: turn.agent }),
  };
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value.slice(0, LONGEST_KEYWORD)]),
  );
}
