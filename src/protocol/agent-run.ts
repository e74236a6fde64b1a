import type { Carried } from './carried.ts';
import type { ChainFence } from './step.ts';
import type { InvocationOutcome, InvocationStatus, TurnRunConfig, TurnState } from './turn.ts';

/** A tool of an agent's, whose own agent is meant. */
export interface ToolOfAgent {
  agent: string;
  tool: string;
  /** Of a tool that was added to the turn: what any worker makes it of again. */
  made?: { app: string; factory: string; args: Record<string, unknown> };
}

/** Names an agent so that every worker finds the same definition. */
export interface AgentRef {
  name: string;
  /** Root of the tree that it is looked for in. Absent in what older releases sent: in all of the worker's trees. */
  root?: string;
  /** From the tree to that of an agent which is no sub-agent but the agent of a tool: one after another, the outermost first. */
  within?: readonly ToolOfAgent[];
}

/** What the run of a called agent may use up, with all below it; what is left out is not limited. `time` in milliseconds. */
export interface RunBudget {
  modelCalls?: number;
  tokens?: number;
  cost?: number;
  time?: number;
}

/** The budget of a called agent's run, as those see it that are part of that run: what counts is what all of them use. */
export interface BudgetAbove extends Omit<RunBudget, 'time'> {
  /** The store's id of the run's session. */
  session: string;
  /** Its run key there. */
  run: string;
}

/** What an app keeps its turns to, for workers of another task queue, which may not know it. */
export interface AppTerms {
  budgets: { turn: RunBudget; session: RunBudget };
  /** By the model's name, or its beginning and `*`; per million tokens. */
  prices: Readonly<Record<string, { input: number; output: number; cachedInput: number }>>;
  runConfig: Omit<TurnRunConfig, 'customMetadata'>;
}

/** What the run of an agent is kept to. */
export interface RunTerms {
  /** Of the call whose agent it is, or is below; `time` is at most what its caller had left. */
  budget?: RunBudget;
  /** Of the runs that it is part of, the outermost first. */
  above?: readonly BudgetAbove[];
  /** Of an agent that lives on another task queue than its root, and of those below it. */
  appTerms?: AppTerms;
}

/** Which agent acts, and where in the tree of a turn: beside its name, absent where that is all. */
export interface ActingAgent extends RunTerms {
  root?: string;
  within?: readonly ToolOfAgent[];
  /** Of the events that it writes. */
  branch?: string;
  /** Names of the agents from the turn's root to this one; absent for the root. */
  path?: readonly string[];
  /** Absent: the workflow itself is the root. */
  rootWorkflowId?: string;
  /** Absent for the root. */
  tracedBelow?: TracedBelow;
}

/** Where the run of an agent stands in the trace of its turn. */
export interface TracedBelow {
  /** Run key of the turn's root. */
  root: string;
  /** Run key of the agent that has planned it, or key of the call whose agent it is. */
  by: string;
  /** When it was begun, milliseconds since the epoch. */
  at: number;
}

/** An agent that a workflow agent has run, or that a call runs. */
export interface PlannedAgent extends AgentRef {
  /** ADK's: path of agent names, of those that run at the same time. */
  branch?: string;
  /** Where it lives, if not where its parent does. */
  taskQueue?: string;
}

/**
 * How the agents of a plan run. `sequence`: one after another. `loop`: so again and again, until one escalates or the iterations
 * are used up. `parallel`: all at once.
 */
export type AgentOrder = 'sequence' | 'loop' | 'parallel';

/** What a workflow agent has the workflow do before it is asked again. */
export interface AgentPlan {
  order: AgentOrder;
  agents: readonly PlannedAgent[];
  /** Of a loop; absent: until one escalates. */
  maxIterations?: number;
  /** Of those that run at the same time: one that fails doesn't end the others, nor the one that runs them. */
  continueOnError?: true;
  /** How many run at the same time. */
  maxParallel: number;
}

/** What became of an agent that a workflow agent has run. */
export interface RanAgent {
  name: string;
  runKey: string;
  status: InvocationOutcome['status'];
  /** One of its events, or of those that it has run, had `escalate` set. */
  escalated?: true;
  error?: { code: string; message: string };
}

/** What a call of an agent's tool needs to be run as a child: beside the call itself, whose arguments are the message. */
export interface CallOfAgent {
  /** Of the caller: the store's session and the run that the call belongs to. */
  session: string;
  runKey: string;
  callKey: string;
  callId: string;
  tool: string;
  args: Carried<Record<string, unknown>>;
}

/** How an agent's tool is run. Durations in milliseconds. */
export interface AgentToolPlan extends PlannedAgent, RunTerms {
  /** Of all attempts. */
  timeout?: number;
  /** How often the child is run before its failure is the call's. Defaults to 1. */
  attempts?: number;
  /** The tool's own activity has to run first: it is gated. Otherwise its callbacks were asked when the call was planned. */
  begins?: true;
}

/** Beside the start arguments of a child's `agentTurn`, which are those of its root. */
export interface ChildStart extends RunTerms {
  /** Of an agent that a workflow agent runs: the run that has planned it. */
  plannedBy?: string;
  /** All workflow ids of the tree begin with it. */
  rootWorkflowId: string;
  runKey: string;
  agent: AgentRef;
  /** Names of the agents from the root to this one. */
  path: readonly string[];
  branch?: string;
  /** Of the turn that it belongs to. */
  invocationId: string;
  tracedBelow?: TracedBelow;
  fence: ChainFence;
  /** Of its session: where an agent's tool is called, of a session of its own, which the first step makes. */
  session?: string;
  seq: number;
  /** An agent's tool is called. */
  call?: CallOfAgent;
}

/** What a run of a child gives back beside its turn's result. */
export interface ChildEnd {
  escalated?: true;
}

/** A request, or a job, that an agent of a tree waits for. */
export interface AgentWait {
  runKey: string;
  workflowId: string;
  /** Names of the agents from the root to the one that waits. */
  path: readonly string[];
  /** For people, or for a job. */
  status: Exclude<TurnState, InvocationStatus>;
  tool: string;
  /** Of the call that waits, as its model or Holdfast has named it. */
  callId?: string;
  /** Absent where it is a job. */
  requestId?: string;
  /** Milliseconds since the epoch. */
  since: number;
}

/** Payload of {@link CHILD_STATE}, from a child to the workflow that runs it: it waits, or goes on, or what waits below it has changed. */
export interface ChildState {
  runKey: string;
  path: readonly string[];
  status: TurnState;
  /** Milliseconds since the epoch. */
  since: number;
  /** What it and the agents below it wait for, the first ones. */
  waits?: readonly AgentWait[];
  /** How many waits are not told. */
  more?: number;
}

/** A child as the query `status` of the workflow that runs it tells. */
export interface RunningChild extends ChildState {
  agent: string;
  workflowId: string;
  /** The tool whose call it waits for itself. */
  tool?: string;
}

/** Errand of a tool's activity behind its agent's run: callbacks, output, settling. */
export interface AgentErrand {
  /** Of the agent's latest run. */
  runKey: string;
  status: InvocationOutcome['status'] | 'terminated' | 'timed out';
  error?: { code: string; message: string };
  /** When the first of its runs began, milliseconds since the epoch. */
  beganAt?: number;
}
