import { setTimeout } from 'node:timers/promises';
import {
  type Client,
  isGrpcServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { CancelledFailure, TerminatedFailure } from '@temporalio/common';
import type { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { isOutage } from '../setup/outage-errors.ts';
import { messageOf, type SoakModel } from './model.ts';
import { isHooked, type Scenario, type SoakMessage } from './plan.ts';

/** What a client was told of a message in the end. */
export interface Answer {
  messageId: string;
  result?: TurnResult;
  /** The workflow was cancelled or terminated, and the client was told so. */
  stopped?: true;
  /** Milliseconds since its client has sent it. */
  took: number;
}

/** What came of a scenario, as its clients saw it. */
export interface PlayedScenario {
  scenario: Scenario;
  answers: Answer[];
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
  /** The order to cancel or terminate was taken, or may have been. */
  stopTaken: boolean;
  /** What a client threw that was no outage. */
  problems: string[];
}

export interface DriverSetup {
  clients: readonly [HoldfastClient, HoldfastClient];
  temporal: Client;
  model: SoakModel;
  /** Ends all waiting. */
  signal: AbortSignal;
  onAnswer: (answer: Answer) => void;
}

/** Between two tries of a client that met an outage, milliseconds. */
const PAUSE = 150;

export function namesOf({ sessionId }: Pick<Scenario, 'sessionId'>): SessionNames {
  return { app: isHooked({ sessionId }) ? 'hooked' : 'soak', userId: 'ada', sessionId };
}

export function workflowIdOfScenario(scenario: Pick<Scenario, 'sessionId'>): string {
  const { app, userId, sessionId } = namesOf(scenario);
  return workflowIdOf(app, userId, sessionId);
}

/** The clients: they send, send again where they learned nothing, and wait for their answers. */
export class Driver {
  readonly #setup: DriverSetup;
  /** Outages that clients met, by what they were told. */
  readonly outages = new Map<string, number>();

  constructor(setup: DriverSetup) {
    this.#setup = setup;
  }

  async play(scenario: Scenario): Promise<PlayedScenario> {
    const played: PlayedScenario = {
      scenario,
      answers: [],
      from: Date.now(),
      to: 0,
      stopTaken: false,
      problems: [],
    };
    try {
      if (scenario.kind === 'apart') await this.#playApart(played);
      else await this.#playTogether(played);
    } catch (error) {
      played.problems.push(describe(error));
    }
    played.to = Date.now();
    return played;
  }

  async #playApart(played: PlayedScenario): Promise<void> {
    for (const message of played.scenario.messages) {
      await this.#answered(played, message, await this.#send(played.scenario, message));
    }
  }

  async #playTogether(played: PlayedScenario): Promise<void> {
    const { scenario } = played;
    const { model, signal } = this.#setup;
    const [first, ...others] = scenario.messages;
    if (first === undefined) return;
    const waits: Promise<void>[] = [];
    const awaitAnswer = (message: SoakMessage, handles: TurnHandle[]) => {
      const wait = this.#answered(played, message, handles);
      // It is looked at in the end; until then its failure is nobody's.
      wait.catch(() => undefined);
      waits.push(wait);
    };
    awaitAnswer(first, await this.#send(scenario, first));
    await model.asked(first.turn.messageId, signal);
    const stopAt = Date.now() + scenario.stopAfter;
    const quiet = scenario.quiet && scenario.following !== undefined;
    for (const message of others) {
      await setTimeout(message.pause, undefined, { signal });
      const handles = await this.#send(scenario, message);
      if (quiet) await this.#knownToWait(handles);
      else awaitAnswer(message, handles);
    }
    if (scenario.following !== undefined) {
      await setTimeout(Math.max(0, stopAt - Date.now()), undefined, { signal });
      played.stopTaken = await this.#stop(scenario);
      awaitAnswer(scenario.following, await this.#send(scenario, scenario.following));
    }
    await Promise.all(waits);
  }

  /** Gives a message to its session: it is accepted when this returns. */
  async #send(scenario: Scenario, message: SoakMessage): Promise<TurnHandle[]> {
    const { clients } = this.#setup;
    const senders = message.twice ? clients : clients.slice(0, 1);
    return await Promise.all(senders.map((client) => this.#sendBy(client, scenario, message)));
  }

  #sendBy(client: HoldfastClient, scenario: Scenario, { turn, policy }: SoakMessage): Promise<TurnHandle> {
    return this.#untilUp(() =>
      client.sendMessage({
        ...namesOf(scenario),
        message: messageOf(turn),
        messageId: turn.messageId,
        ...(policy === undefined ? {} : { policy }),
      }),
    );
  }

  async #answered(played: PlayedScenario, message: SoakMessage, handles: TurnHandle[]): Promise<void> {
    const { clients, onAnswer } = this.#setup;
    await Promise.all(
      handles.map(async (handle, index) => {
        const client = clients[index] ?? clients[0];
        const answer = await this.#answerTo(client, played.scenario, message, handle);
        played.answers.push(answer);
        if (index === 0) onAnswer(answer);
      }),
    );
  }

  async #answerTo(
    client: HoldfastClient,
    scenario: Scenario,
    message: SoakMessage,
    first: TurnHandle,
  ): Promise<Answer> {
    const { signal } = this.#setup;
    const { messageId } = message.turn;
    // Sent again, a message whose turn was stopped would go on. The others are to be answered, whatever was stopped.
    const mayBeStopped = scenario.following !== undefined && message === scenario.messages[0];
    const began = Date.now();
    const took = () => Date.now() - began;
    let handle = first;
    for (;;) {
      try {
        return { messageId, result: await handle.result({ signal }), took: took() };
      } catch (error) {
        signal.throwIfAborted();
        const stopped = wasStopped(error);
        if (stopped && mayBeStopped) return { messageId, stopped: true, took: took() };
        if (!stopped && !isOutage(error)) throw error;
        await this.#met(stopped ? 'the stop of a turn that it had queued for' : nameOf(error));
      }
      if (!mayBeStopped) handle = await this.#sendBy(client, scenario, message);
    }
  }

  /** Waits until the session has said that it keeps a message, or that it is past waiting. */
  async #knownToWait(handles: TurnHandle[]): Promise<void> {
    for (const handle of handles) {
      await this.#untilUp(async () => {
        for (;;) {
          const receipt = await handle.receipt({ timeout: 5_000 });
          if (receipt.confirmed) return;
          await this.#met('a receipt without a confirmation');
        }
      });
    }
  }

  /** Whether the order was taken; one whose answer was lost may have been. */
  async #stop(scenario: Scenario): Promise<boolean> {
    const handle = this.#setup.temporal.workflow.getHandle(workflowIdOfScenario(scenario));
    let lost = false;
    return await this.#untilUp(async () => {
      try {
        if (scenario.kind === 'cancelled') await handle.cancel();
        else await handle.terminate('by the soak');
        return true;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return lost;
        lost = true;
        throw error;
      }
    });
  }

  async #untilUp<T>(request: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        if (!isOutage(error)) throw error;
        await this.#met(nameOf(error));
      }
    }
  }

  async #met(outage: string): Promise<void> {
    this.outages.set(outage, (this.outages.get(outage) ?? 0) + 1);
    await setTimeout(PAUSE, undefined, { signal: this.#setup.signal });
  }
}

function wasStopped(error: unknown): boolean {
  return (
    error instanceof WorkflowFailedError &&
    (error.cause instanceof CancelledFailure || error.cause instanceof TerminatedFailure)
  );
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = isGrpcServiceError(error.cause) ? ` (gRPC ${error.cause.code})` : '';
  return `${error.name}${cause}`;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` <- ${error.cause.name}: ${error.cause.message}` : '';
  return `${error.name}: ${error.message}${cause}`;
}
