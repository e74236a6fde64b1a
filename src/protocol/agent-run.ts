import type { RunTerms } from './run-terms.ts';
import type { Carried } from './sizes.ts';

/** How an invocation stands. */
export type InvocationStatus = 'running' | 'completed' | 'failed' | 'interrupted';

/** The invocation that writes, and its chain of runs. Each new invocation raises the fence; older ones can't append. */
export interface ChainFence {
  /** Start of the chain's first run, milliseconds since the epoch. */
  startedAt: number;
  /** Number of the invocation within the chain, from 1. */
  invocation: number;
}

/** A tool of an agent's, whose own agent is meant. */
export interface ToolOfAgent {
  agent: string;
  tool: string;
  /** For a tool that was added to the turn: what any worker makes it of again. */
  made?: { app: string; factory: string; args: Record<string, unknown> };
}

/** Names an agent so that every worker finds the same definition. */
export interface AgentRef {
  name: string;
  /** Root of the tree that it is looked for in. Absent in what older releases sent: in all of the worker's trees. */
  root?: string;
  /** The way from the tree to that of a tool's agent, which is no sub-agent: one tool after another, the outermost first. */
  within?: readonly ToolOfAgent[];
}

/** Place of the acting agent in the tree of a turn, beside its name. Empty where the name is enough. */
export interface ActingAgent extends RunTerms {
  root?: string;
  within?: readonly ToolOfAgent[];
  /** Branch of the events that it writes. */
  branch?: string;
  /** Names of the agents from the turn's root to this one; absent for the root. */
  path?: readonly string[];
  /** Absent: the workflow itself is the root. */
  rootWorkflowId?: string;
  /** Absent for the root. */
  tracedBelow?: ParentSpan;
}

/** Where the run of an agent stands in the trace of its turn. */
export interface ParentSpan {
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

/** Runs that a workflow agent asks of the workflow before the workflow asks it again. */
export interface AgentPlan {
  order: AgentOrder;
  agents: readonly PlannedAgent[];
  /** Most iterations of a loop; absent: until one escalates. */
  maxIterations?: number;
  /** For agents that run at the same time: a failing one ends neither the others nor its parent. */
  continueOnError?: true;
  /** How many run at the same time. */
  maxParallel: number;
}

/** The outcome of an agent that a workflow agent has run. */
export interface RanAgent {
  name: string;
  runKey: string;
  status: Exclude<InvocationStatus, 'running'>;
  /** One of its events, or of those that it has run, had `escalate` set. */
  escalated?: true;
  error?: { code: string; message: string };
}

/** A call of an agent's tool, as the child's start needs it. The call's arguments are the message. */
export interface CallOfAgent {
  /** The caller's session in the store, and the run that the call belongs to. */
  session: string;
  runKey: string;
  callKey: string;
  callId: string;
  tool: string;
  args: Carried<Record<string, unknown>>;
}

/** How an agent's tool is run. Durations in milliseconds. */
export interface AgentToolPlan extends PlannedAgent, RunTerms {
  /** Milliseconds of all attempts. */
  timeout?: number;
  /** How often the child is run before its failure is the call's. Defaults to 1. */
  attempts?: number;
  /** The tool's own activity has to run first: it is gated. Otherwise its callbacks were asked when the call was planned. */
  begins?: true;
}

/** Beside the start arguments of a child's `agentTurn`, which are those of its root. */
export interface ChildStart extends RunTerms {
  /** For an agent that a workflow agent runs: the run that has planned it. */
  plannedBy?: string;
  /** All workflow ids of the tree begin with it. */
  rootWorkflowId: string;
  runKey: string;
  agent: AgentRef;
  /** Names of the agents from the root to this one. */
  path: readonly string[];
  branch?: string;
  /** Id of the turn that it belongs to. */
  invocationId: string;
  tracedBelow?: ParentSpan;
  fence: ChainFence;
  /** Of its session: where an agent's tool is called, of a session of its own, which the first step makes. */
  session?: string;
  seq: number;
  /** An agent's tool is called. */
  call?: CallOfAgent;
}

/** Result of a child's run beside its turn's result. */
export interface ChildEnd {
  escalated?: true;
}

/** The outcome of a call's agent: its tool's activity calls the callbacks, and records the call's outcome by this. */
export interface EndedAgent {
  /** Run key of the agent's latest run. */
  runKey: string;
  status: Exclude<InvocationStatus, 'running'> | 'terminated' | 'timed out';
  error?: { code: string; message: string };
  /** When the first of its runs began, milliseconds since the epoch. */
  beganAt?: number;
}
