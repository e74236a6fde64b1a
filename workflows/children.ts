import type { ChildState, RunningChild } from '../src/protocol/agent-run.ts';
import { childWorkflowIdOf } from '../src/protocol/identity.ts';
import type { TurnState } from '../src/protocol/turn.ts';

/** A child that begins. */
export interface BegunChild {
  runKey: string;
  agent: string;
  path: readonly string[];
  /** The call whose agent it is. */
  callKey?: string;
}

interface KnownChild extends RunningChild {
  callKey?: string;
}

/** The agents that run as children of this workflow: what they do, as far as they have said so. */
export class Children {
  readonly #rootWorkflowId: string;
  readonly #changed: () => void;
  readonly #running = new Map<string, KnownChild>();

  constructor(rootWorkflowId: string, changed: () => void) {
    this.#rootWorkflowId = rootWorkflowId;
    this.#changed = changed;
  }

  get running(): RunningChild[] {
    return [...this.#running.values()].map(({ callKey: _callKey, ...child }) => child);
  }

  /** Those that are known to wait for people, whatever is below them. */
  get waitingForPeople(): RunningChild[] {
    return this.running.filter(({ status }) => isWaiting(status) && status !== 'waiting_job');
  }

  has(runKey: string): boolean {
    return this.#running.has(runKey);
  }

  /** Whether the agent of a call does nothing but wait. */
  waitsFor(callKey: string): boolean {
    return [...this.#running.values()].some((child) => child.callKey === callKey && isWaiting(child.status));
  }

  began({ runKey, agent, path, callKey }: BegunChild): void {
    this.#running.set(runKey, {
      runKey,
      agent,
      path,
      workflowId: childWorkflowIdOf(this.#rootWorkflowId, runKey),
      status: 'running',
      since: Date.now(),
      ...(callKey === undefined ? {} : { callKey }),
    });
    this.#changed();
  }

  ended(runKey: string): void {
    this.#running.delete(runKey);
    this.#changed();
  }

  /** What a child says of itself. */
  told(given: ChildState): void {
    const child = typeof given === 'object' && given !== null ? this.#running.get(given.runKey) : undefined;
    if (child === undefined || !isState(given.status)) return;
    const { tool: _tool, ...rest } = child;
    this.#running.set(given.runKey, {
      ...rest,
      status: given.status,
      since: Number(given.since) || Date.now(),
      ...(Array.isArray(given.path) ? { path: given.path.map(String) } : {}),
      ...(typeof given.tool === 'string' ? { tool: given.tool } : {}),
    });
    this.#changed();
  }
}

const WAITING: readonly TurnState[] = [
  'waiting_approval',
  'waiting_credential',
  'waiting_input',
  'waiting_job',
];

export function isWaiting(state: TurnState): boolean {
  return WAITING.includes(state);
}

function isState(given: unknown): given is TurnState {
  return given === 'running' || WAITING.some((state) => state === given);
}
