import { randomUUID } from 'node:crypto';
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure, defineSearchAttributeKey } from '@temporalio/common';
import { invocationIdOf, workflowIdOf } from '../protocol/identity.ts';
import { AGENT_TURN, DEFAULT_TASK_QUEUE, STATUS_QUERY } from '../protocol/names.ts';
import { searchAttributeValues } from '../protocol/search-attributes.ts';
import type { AgentTurnStart, TurnResult, TurnStatus } from '../protocol/turn.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';

const MOST_TRIES = 5;

const CLOSED: ReadonlySet<string> = new Set([
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'CONTINUED_AS_NEW',
  'TIMED_OUT',
]);

/** Options of {@link HoldfastClient}. */
export interface HoldfastClientOptions {
  temporal: Client;
  /** Defaults to `holdfast`. */
  taskQueue?: string;
  /** Labels turns with Holdfast's search attributes, which the server must know. Defaults to false. */
  searchAttributes?: boolean;
}

export interface TurnHandle {
  workflowId: string;
  runId: string;
  invocationId: string;
  messageId: string;
  /** The turn was under way already. */
  attached: boolean;
  /** The task queue whose workers run it. */
  taskQueue: string;
  /**
   * Waits for the turn's end. A failed turn is a result with `status: 'failed'`.
   *
   * @throws WorkflowFailedError where the run was terminated, cancelled, or failed otherwise.
   */
  result(): Promise<TurnResult>;
}

/** Another message of the session is being answered. */
export class SessionBusy extends Error {
  readonly code = 'HOLDFAST_SESSION_BUSY';
  override readonly name = 'SessionBusy';
}

/** The turn names no session that could exist. */
export class InvalidTurn extends TypeError {
  readonly code = 'HOLDFAST_INVALID_TURN';
  override readonly name = 'InvalidTurn';
}

/** Starts turns and waits for them. */
export class HoldfastClient {
  readonly #options: HoldfastClientOptions;

  constructor(options: HoldfastClientOptions) {
    this.#options = options;
  }

  /**
   * Starts a turn, or attaches to it where this message id is under way.
   *
   * @param turn `messageId` defaults to a random one.
   * @throws SessionBusy where the session is answering another message.
   * @throws InvalidTurn for names that are empty or no text.
   */
  async startTurn(turn: AgentTurnStart): Promise<TurnHandle> {
    const messageId = turn.messageId ?? randomUUID();
    const names = namesOf(turn, messageId);
    for (let tried = 0; tried < MOST_TRIES; tried++) {
      const handle = (await this.#start(turn, names)) ?? (await this.#attach(names));
      // The turn that was under way has ended in between: its id is free again.
      if (handle !== undefined) return handle;
    }
    throw new SessionBusy(`session ${names.workflowId} starts turns faster than this one could: try again`);
  }

  async #start(turn: AgentTurnStart, names: TurnNames): Promise<TurnHandle | undefined> {
    const { temporal, taskQueue = DEFAULT_TASK_QUEUE, searchAttributes } = this.#options;
    const { workflowId, invocationId, messageId } = names;
    try {
      const handle = await temporal.workflow.start(AGENT_TURN, {
        workflowId,
        taskQueue,
        args: [{ v: PROTOCOL_VERSION, ...turn, messageId }],
        memo: { invocationId, messageId },
        ...(searchAttributes ? { typedSearchAttributes: searchAttributesOf(turn) } : {}),
      });
      return handleOf(handle, { ...names, runId: handle.firstExecutionRunId, attached: false, taskQueue });
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
      throw error;
    }
  }

  async #attach(names: TurnNames): Promise<TurnHandle | undefined> {
    const { workflow } = this.#options.temporal;
    const { runId, memo, status, taskQueue } = await workflow.getHandle(names.workflowId).describe();
    if (CLOSED.has(status.name)) return undefined;
    const handle = workflow.getHandle(names.workflowId, runId);
    const running = memo?.invocationId ?? (await handle.query<TurnStatus>(STATUS_QUERY)).invocationId;
    if (running !== names.invocationId) {
      const told = typeof memo?.messageId === 'string' ? ` (message id ${memo.messageId})` : '';
      throw new SessionBusy(
        `session ${names.workflowId} is answering another message${told}: wait for its end, or attach with its message id`,
      );
    }
    return handleOf(handle, { ...names, runId, attached: true, taskQueue });
  }
}

type TurnNames = Pick<TurnHandle, 'workflowId' | 'invocationId' | 'messageId'>;

function namesOf({ app, userId, sessionId }: AgentTurnStart, messageId: string): TurnNames {
  for (const [field, value] of Object.entries({ app, userId, sessionId, messageId })) {
    if (typeof value !== 'string' || value === '' || !value.isWellFormed()) {
      throw new InvalidTurn(`startTurn: ${field}: expected a non-empty string of well-formed Unicode`);
    }
  }
  const workflowId = workflowIdOf(app, userId, sessionId);
  return { workflowId, invocationId: invocationIdOf(app, userId, sessionId, messageId), messageId };
}

function handleOf(handle: WorkflowHandle, turn: Omit<TurnHandle, 'result'>): TurnHandle {
  return {
    ...turn,
    async result() {
      try {
        return await handle.result();
      } catch (error) {
        const failed = failedTurn(error);
        if (failed === undefined) throw error;
        return failed;
      }
    },
  };
}

function failedTurn(error: unknown): TurnResult | undefined {
  if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure))
    return undefined;
  if (error.cause.type !== 'TurnFailed') return undefined;
  const result: unknown = error.cause.details?.[0];
  return isTurnResult(result) ? result : undefined;
}

function isTurnResult(value: unknown): value is TurnResult {
  return typeof value === 'object' && value !== null && 'invocationId' in value && 'status' in value;
}

function searchAttributesOf(turn: AgentTurnStart) {
  return Object.entries(searchAttributeValues(turn)).map(([name, value]) => ({
    key: defineSearchAttributeKey(name, 'KEYWORD'),
    value,
  }));
}
