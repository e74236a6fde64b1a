import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { error } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { beating } from './beating.ts';
import { OwnModel, saying } from './own-model.ts';
import { plantedSecrets } from './planted-secrets.ts';
import { stepCalls } from './scripts.ts';
import type { TurnEnvironment } from './turn-environment.ts';

/** Kinds of content that passes through Temporal, or could. */
const KINDS = [
  'message',
  'stateDelta',
  'argument',
  'summary',
  'result',
  'toolState',
  'invalidArgument',
  'inlineArgument',
  'inlineResult',
  'toolError',
  'toolErrorCause',
  'lastToolError',
  'inlineError',
  'heartbeat',
  'answer',
  'modelError',
  'retriedModelError',
  'thrownByModel',
  'instructionError',
  'queued',
  'asked',
  'rejected',
  'malformed',
  'interrupting',
  'cancelReason',
  'interruptReason',
  'refusedStart',
] as const;

export type SecretKind = (typeof KINDS)[number];

const quick = { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 };

/** Agents, and turns of them, that carry secrets through every way that content takes. */
export class SecretTurns {
  readonly secrets = plantedSecrets(KINDS);
  readonly agents: readonly LlmAgent[];
  #environment: TurnEnvironment | undefined;
  #sessions = 0;
  #held = Promise.withResolvers<void>();
  #instruction = async () => 'You keep secrets.';

  constructor() {
    const { secrets } = this;
    const parameters = z.object({ secret: z.string() });
    const failing = (name: string, thrown: () => Error, execution: 'activity' | 'inline' = 'activity') =>
      tool({
        name,
        description: 'fails with a secret',
        retry: quick,
        execution,
        execute: () => {
          throw thrown();
        },
      });
    const tools = [
      tool({
        name: 'tells',
        description: 'sees and says secrets',
        parameters,
        summary: () => secrets.summary,
        execute: (_args, context) => {
          context.state.set('kept', secrets.toolState);
          return { secret: secrets.result };
        },
      }),
      tool({
        name: 'tells_inline',
        description: 'sees and says secrets in the worker of the turn',
        parameters,
        execution: 'inline',
        execute: () => ({ secret: secrets.inlineResult }),
      }),
      tool({
        name: 'counts',
        description: 'takes a number',
        parameters: z.object({ n: z.number() }),
        execute: () => 1,
      }),
      failing('fails', () => new Error(secrets.toolError, { cause: new Error(secrets.toolErrorCause) })),
      failing('refuses', () => new ToolError(secrets.lastToolError, { retryable: false })),
      failing('fails_inline', () => new Error(secrets.inlineError), 'inline'),
      tool({
        name: 'holds',
        description: 'waits until it is cancelled or let go',
        execute: async (_args, context) => {
          const aborted = new Promise((_resolve, reject) =>
            context.abortSignal?.addEventListener('abort', () => reject(new Error('cancelled'))),
          );
          const waiting = Promise.race([this.#held.promise, aborted]);
          await beating(context, waiting, { progress: secrets.heartbeat });
          return {};
        },
      }),
    ];
    const thrower = new OwnModel(async () => {
      const { thrownByModel } = secrets;
      throw Object.assign(new Error(thrownByModel), { code: thrownByModel, name: thrownByModel });
    });
    this.agents = [
      new LlmAgent({
        name: 'keeper',
        model: 'gemini-2.5-flash',
        tools,
        modelRetry: quick,
        outputKey: 'said',
      }),
      new LlmAgent({ name: 'thrower', model: thrower, modelRetry: quick }),
      new LlmAgent({
        name: 'instructed',
        model: new OwnModel(async () => saying('fine')),
        instruction: () => this.#instruction(),
        modelRetry: quick,
      }),
    ];
  }

  /** Ids of the sessions so far, of the app `test` and the user `ada`. */
  get sessions(): string[] {
    return Array.from({ length: this.#sessions }, (_, index) => `s${index + 1}`);
  }

  async run(environment: TurnEnvironment): Promise<void> {
    this.#environment = environment;
    const { secrets } = this;
    await this.#turn(
      stepCalls(
        [
          [
            { name: 'tells', args: { secret: secrets.argument } },
            { name: 'tells_inline', args: { secret: secrets.inlineArgument } },
            { name: 'counts', args: { n: secrets.invalidArgument } },
          ],
          [{ name: 'fails' }, { name: 'refuses' }, { name: 'fails_inline' }],
          [{ name: 'tells', args: { secret: secrets.argument } }],
        ],
        secrets.answer,
      ),
      { message: secrets.message, stateDelta: { planted: secrets.stateDelta } },
    );
    await this.#turn([error(400, secrets.modelError)]);
    await this.#turn(() => error(503, secrets.retriedModelError));
    await this.#turn([], { agent: 'thrower' });
    this.#instruction = () => Promise.reject(new Error(secrets.instructionError));
    await this.#turn([], { agent: 'instructed' });
    await this.#steered();
    await this.#turn([], { runConfig: { maxLlmCalls: secrets.refusedStart } });
  }

  /** Messages and orders that come while a call runs. */
  async #steered(): Promise<void> {
    const { secrets } = this;
    const { store, temporal } = this.#running;
    const holding = async (start: () => Promise<unknown>) => {
      const started = Promise.withResolvers<string>();
      const stop = store.live.onNotice((notice) => {
        if (notice.type === 'call started' && notice.tool === 'holds') started.resolve(notice.callKey);
      });
      await start();
      const callKey = await started.promise;
      stop();
      return callKey;
    };
    this.#held = Promise.withResolvers();
    const script = stepCalls([[{ name: 'holds' }]], 'done');
    const callKey = await holding(() => this.#start(script, { messageId: 'first' }));
    const handle = temporal.workflow.getHandle(workflowIdOf(this.#sessions));
    await expect.poll(async () => (await pendingOf(handle))?.heartbeatDetails?.payloads).toHaveLength(1);
    const send = (messageId: string, fields: object) =>
      handle.signal('sendMessage', { messageId, ...fields });
    await send('queued', { message: secrets.queued });
    await handle.executeUpdate('sendMessage', { args: [{ messageId: 'asked', message: secrets.asked }] });
    await send('rejected', { message: secrets.rejected, policy: 'reject' });
    await send('malformed', { message: 'hi', policy: secrets.malformed });
    await handle
      .executeUpdate('sendMessage', { args: [{ messageId: 'm', message: 'hi', policy: secrets.malformed }] })
      .catch(() => undefined);
    await holding(() => handle.signal('cancelCall', { callKey, reason: secrets.cancelReason }));
    await holding(() => handle.signal('interrupt', { reason: secrets.interruptReason }));
    await holding(() => send('urgent', { message: secrets.interrupting, policy: 'interrupt' }));
    this.#held.resolve();
    await handle.result();
  }

  get #running(): TurnEnvironment {
    if (this.#environment === undefined) throw new Error('there is no environment yet');
    return this.#environment;
  }

  async #turn(script: GeminiScript, fields: object = {}): Promise<void> {
    const handle = await this.#start(script, fields);
    try {
      await handle.result();
    } catch (failure) {
      const { cause } = failure as { cause?: unknown };
      if (!(cause instanceof ApplicationFailure)) throw failure;
    }
  }

  async #start(script: GeminiScript, fields: object) {
    const { gemini, temporal } = this.#running;
    gemini.reset(script);
    this.#sessions += 1;
    const names = { app: 'test', userId: 'ada', sessionId: `s${this.#sessions}` };
    return await temporal.workflow.start('agentTurn', {
      workflowId: workflowIdOf(this.#sessions),
      taskQueue: 'holdfast',
      args: [{ v: 1, ...names, message: 'go', ...fields }],
    });
  }
}

async function pendingOf(handle: WorkflowHandle) {
  return (await handle.describe()).raw.pendingActivities?.[0];
}

const workflowIdOf = (session: number) => `test/ada/s${session}`;
