import { randomUUID } from 'node:crypto';
import type { BaseAgent } from '../agents/base-agent.ts';
import type { ResumabilityConfig } from '../app/app.ts';
import type { BaseArtifactService } from '../artifacts/base-artifact-service.ts';
import { InvalidTurn } from '../client/client-errors.ts';
import type { Content } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import {
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '../events/request-calls.ts';
import type { BaseMemoryService } from '../memory/base-memory-service.ts';
import { PluginManager } from '../plugins/plugin-manager.ts';
import { defined } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import type { BaseSessionService } from './base-session-service.ts';
import { HoldfastSessionService } from './holdfast-session-service.ts';
import { InMemorySessionService } from './in-memory-session-service.ts';
import { type RunConfig, turnRunConfig } from './run-config.ts';
import { runTurn } from './run-turn.ts';
import { type RunnerConfig, runnerParts } from './runner-config.ts';
import { artifactServiceOf, memoryServiceOf } from './runner-services.ts';
import type { Served, SessionAccess } from './session-access.ts';
import { StoreSessionService } from './store-session-service.ts';

const RUNNER = Symbol.for('holdfast.runner');

/** Options of {@link Runner.runEphemeral}. */
export interface RunEphemeralParams {
  userId: string;
  newMessage: Content;
  /** State that the message's event carries. */
  stateDelta?: Record<string, unknown>;
  runConfig?: RunConfig;
  /** JSON; written on the event of the user's message. */
  customMetadata?: Record<string, unknown>;
}

/** Options of {@link Runner.runAsync}. */
export interface RunParams extends RunEphemeralParams {
  sessionId: string;
  /** Once aborted, the turn is interrupted, and no more events come. */
  abortSignal?: AbortSignal;
}

/**
 * Runs an agent's turns, each as a Temporal workflow: in an environment of this process, or, with `client`, on the workers that
 * the client reaches. Semantics: `Runner` of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * const runner = new Runner({ appName: 'shop', agent, sessionService: new InMemorySessionService() });
 * await runner.sessionService.createSession({ appName: 'shop', userId: 'ada', sessionId: 's1' });
 * const newMessage = { role: 'user', parts: [{ text: 'Where is my order?' }] };
 * for await (const event of runner.runAsync({ userId: 'ada', sessionId: 's1', newMessage })) {
 *   if (isFinalResponse(event)) console.log(stringifyContent(event));
 * }
 */
export class Runner implements AsyncDisposable {
  readonly [RUNNER] = true;
  readonly appName: string;
  readonly agent: BaseAgent;
  readonly pluginManager: PluginManager;
  readonly sessionService: BaseSessionService;
  /** The service that the runner or its app was given; without one, the store. Through a `GatewayClient` its methods throw. */
  readonly artifactService: BaseArtifactService;
  /** The same for memories; undefined for an app without a memory. */
  readonly memoryService: BaseMemoryService | undefined;
  readonly resumabilityConfig: ResumabilityConfig | undefined;
  readonly #access: SessionAccess;
  readonly #served: (() => Served) | undefined;

  constructor(config: RunnerConfig) {
    const owner = new.target.name || 'Runner';
    const { appName, agent, plugins, served } = runnerParts(owner, config);
    const { client, resumabilityConfig } = config;
    const sessionService = config.sessionService ?? (client && new HoldfastSessionService(client));
    this.#access = accessOf(owner, sessionService, config);
    // 2.0.0 too goes without until the first session is looked for.
    this.appName = appName as string;
    this.agent = agent;
    this.pluginManager = new PluginManager(plugins);
    this.sessionService = sessionService as BaseSessionService;
    const { artifactService, memory } = config.app?.durable ?? {};
    this.artifactService = config.artifactService ?? artifactService ?? artifactServiceOf(this.#access);
    this.memoryService = config.memoryService ?? (memory && memoryServiceOf(this.#access, memory));
    this.resumabilityConfig = config.app?.resumabilityConfig ?? resumabilityConfig;
    this.#served = client === undefined ? () => served(this.pluginManager.plugins) : undefined;
  }

  /**
   * Runs a turn and yields its events as they come: those of the model and of tools, not the user's own message. With
   * `StreamingMode.SSE` partial events come before the whole one. A turn that fails ends with an event that has an `errorCode`,
   * as in ADK.
   *
   * The turn is durable. `abortSignal` interrupts it; to break out of the loop doesn't, where ADK would abandon it: the turn goes
   * on, and its events are in the session. While another turn of the session runs, this one waits.
   *
   * Of a turn that waits for people, or for jobs of long-running calls, the events end after its requests and calls once nothing else
   * of it runs. A message of function responses that answer them goes on with it, by a runner of the same agent, and yields what comes
   * after; one with `willContinue` is an update, after which it still waits. A job may end by itself as well: what comes then
   * is in the session.
   *
   * Any other message is queued after such a turn, where ADK would answer it at once. Its first event says so: a partial one,
   * which no session has, with `customMetadata.holdfast`: `{ type: 'queued', behind, status }`, the invocation that waits, and what for
   * (`waiting_approval`, `waiting_job` …). The next ones are its answer, once that turn has ended. A program that asks for the
   * approval at the same prompt breaks out of the loop there: the message stays queued, and its answer is in the session.
   *
   * @throws SessionNotFound `Session not found: …`
   * @throws InvalidTurn for a message without parts, with a call that only the framework makes, or that can't be sent.
   * @throws RequestNotPending, RequestNotFound, AmbiguousRequest, DecisionRefused where the message answers requests.
   * @throws DefinitionError for a field of `runConfig` that isn't supported.
   * @example
   * for await (const event of runner.runAsync({ userId, sessionId, newMessage, runConfig: { streamingMode: StreamingMode.SSE } })) {
   *   if (event.partial) process.stdout.write(stringifyContent(event));
   * }
   */
  async *runAsync(params: RunParams): AsyncGenerator<Event, void, undefined> {
    const { userId, sessionId, newMessage, stateDelta, customMetadata, abortSignal } = params;
    const runConfig = {
      ...turnRunConfig(params.runConfig),
      ...defined({ customMetadata }),
    };
    const message = checkedMessage(newMessage);
    if (!this.appName) {
      throw new InvalidTurn(
        'Session lookup failed: appName must be provided in runner constructor (or via app.name)',
      );
    }
    yield* runTurn(
      { access: this.#access, served: this.#served, rootAgent: this.agent },
      {
        session: { app: this.appName, userId, sessionId },
        message,
        stateDelta,
        runConfig,
        signal: abortSignal,
      },
    );
  }

  /**
   * As {@link runAsync}, in a new session that is deleted afterwards, with its histories. To break out of the loop ends the turn,
   * too.
   */
  async *runEphemeral(params: RunEphemeralParams): AsyncGenerator<Event, void, undefined> {
    const { appName } = this;
    const { userId } = params;
    const { id: sessionId } = await this.sessionService.createSession({
      appName,
      userId,
      sessionId: randomUUID(),
    });
    try {
      yield* this.runAsync({ ...params, sessionId });
    } finally {
      await this.sessionService.deleteSession({ appName, userId, sessionId });
    }
  }

  /**
   * Ends what the runner has started at once, sessions of an `InMemorySessionService` included; what it was given by `client`
   * stays. A program needs no `close`; tests, which make many runners, do.
   */
  async close(): Promise<void> {
    await this.#access.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Whether `value` is a {@link Runner}, of this or of another copy of the package. */
export function isRunner(value: unknown): value is Runner {
  return typeof value === 'object' && value !== null && RUNNER in value && value[RUNNER] === true;
}

function accessOf(
  owner: string,
  service: BaseSessionService | undefined,
  { client }: RunnerConfig,
): SessionAccess {
  const field = 'sessionService';
  if (service === undefined) {
    throw new DefinitionError({
      owner,
      field,
      problem: 'required: an InMemorySessionService, or in its place a `client`',
    });
  }
  if (client !== undefined && service instanceof InMemorySessionService) {
    throw new DefinitionError({
      owner,
      field,
      problem:
        "its sessions are this process's own, which the workers of `client` don't have; leave one of them out",
    });
  }
  if (client === undefined && service instanceof HoldfastSessionService) {
    throw new DefinitionError({
      owner,
      field,
      problem:
        'a HoldfastSessionService goes with its `client`, whose workers answer; give the runner that, too',
    });
  }
  if (!(service instanceof StoreSessionService)) {
    throw new DefinitionError({
      owner,
      field,
      problem:
        "turns are durable with Holdfast's own store only: give an InMemorySessionService of 'holdfast', or a `client`",
    });
  }
  return StoreSessionService.accessOf(service);
}

const RESERVED: readonly unknown[] = [
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
];

/**
 * A message as 2.0.0 takes it: the role defaults to `user`; undefined is a run without a turn.
 *
 * @throws InvalidTurn for a function call that only the framework makes.
 */
function checkedMessage(message: Content | undefined): Content | undefined {
  for (const { functionCall } of message?.parts ?? []) {
    if (!RESERVED.includes(functionCall?.name)) continue;
    throw new InvalidTurn(
      `A client message may not contain a '${functionCall?.name}' function call: it is raised by the framework, and can ` +
        'only be answered with a function response.',
    );
  }
  return message && { ...message, role: message.role || 'user' };
}
