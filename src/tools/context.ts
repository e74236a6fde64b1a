import type { ArtifactStream } from '../artifacts/artifact-content.ts';
import type {
  ContextArtifacts,
  OpenArtifactOptions,
  OpenedArtifact,
} from '../artifacts/context-artifacts.ts';
import type { AuthCredential } from '../events/auth-credential.ts';
import type { Part } from '../events/content.ts';
import {
  type AuthConfig,
  createEventActions,
  type EventActions,
  ToolConfirmation,
} from '../events/event-actions.ts';
import type { MemoryEntry, SearchMemoryResponse } from '../memory/base-memory-service.ts';
import type { ContextMemory } from '../memory/user-memory.ts';
import { defined } from '../protocol/json.ts';
import { toJsonValue } from '../schema/json-value.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import { CallJob, type ContextJob, NoJobError } from './call-job.ts';
import { assertCredentialKey, CallQuestions, wantedBy } from './call-questions.ts';
import { type ContextParams, type ContextTask, initFrom, NoCallError, stateOf } from './context-params.ts';
import { type ContextServices, serviceOf } from './context-services.ts';
import { onceResult } from './function-response.ts';
import { type InputAnswer, type InputRequest, nextInput, shortHint } from './input-request.ts';
import type { CallInit, ContextInit } from './invocation-context.ts';
import { ReadonlyContext } from './readonly-context.ts';
import type { State } from './state.ts';

const LONGEST_ONCE_KEY = 200;
const QUESTIONS = Symbol.for('holdfast.callQuestions');

/**
 * The knowledge of a tool or a callback, and its effects beside its result. Fields: `Context` of `@google/adk` 2.0.0;
 * ours are those about the call and its attempts.
 *
 * @example
 * execute: async ({ orderId }, context) => {
 *   const charge = await context.once('charge', () => pay(orderId, { idempotencyKey: context.idempotencyKey }));
 *   context.state.set('lastCharge', charge.id);
 *   return charge;
 * }
 */
export class Context extends ReadonlyContext {
  /** Effects of this call beside its result; also as `actions`. */
  readonly eventActions: EventActions;
  /** Id of the function call on the wire. */
  readonly functionCallId?: string;
  toolConfirmation?: ToolConfirmation;
  /** Fires when the call or the turn is cancelled, and when the worker shuts down. Hand it on to `fetch`. */
  readonly abortSignal: AbortSignal;

  readonly #state: State;
  readonly #services: ContextServices;
  readonly #call: CallInit | undefined;
  readonly #questions: CallQuestions;
  readonly #results = new Map<string, Promise<unknown>>();

  declare readonly [QUESTIONS]: CallQuestions;

  constructor(options: ContextInit | ContextParams) {
    const init = 'invocationContext' in options ? initFrom(options) : options;
    super(init);
    this.eventActions = init.eventActions ?? createEventActions();
    this.abortSignal = init.abortSignal ?? new AbortController().signal;
    this.#state = stateOf(init, this.eventActions.stateDelta);
    this.#services = init;
    this.#call = init.call;
    this.#questions = init.call?.questions ?? new CallQuestions();
    // Not private: a tool may come from another copy of the package. Not enumerable: it is nobody's to log.
    Object.defineProperty(this, QUESTIONS, { value: this.#questions });
    const functionCallId = 'invocationContext' in options ? options.functionCallId : options.call?.callId;
    if (functionCallId !== undefined) this.functionCallId = functionCallId;
    if (init.toolConfirmation !== undefined) this.toolConfirmation = init.toolConfirmation;
  }

  /** The session's state. Writes are kept once the call has succeeded. */
  override get state(): State {
    return this.#state;
  }

  get actions(): EventActions {
    return this.eventActions;
  }

  /**
   * Holdfast's name of this call, unique in its session.
   *
   * @throws NoCallError outside of a tool call.
   */
  get callKey(): string {
    return this.#currentCall('callKey').callKey;
  }

  /**
   * The same in every attempt of this call and in no other call: give it to services that take an idempotency key.
   *
   * @throws NoCallError outside of a tool call.
   */
  get idempotencyKey(): string {
    const { session, callKey } = this.#currentCall('idempotencyKey');
    return `${session}.${callKey}`;
  }

  /** Number of this attempt of the call, from 1. */
  get attempt(): number {
    return this.#call?.attempt ?? 1;
  }

  /**
   * Runs `action` at most once successfully for this call: later attempts get the recorded result. An action that
   * throws is not recorded. A crash between the action's end and the record repeats it, so give the
   * {@link Context.idempotencyKey} along where the service takes one.
   *
   * @param key names the action within the call, at most 200 characters.
   * @returns the result as JSON carries it, in the first attempt too.
   * @throws ToolError (not retryable) where the result has no JSON form.
   * @throws NoCallError outside of a tool call.
   */
  async once<T>(key: string, action: () => Promise<T> | T): Promise<T> {
    const { once } = this.#currentCall('once');
    if (typeof key !== 'string' || key === '' || key.length > LONGEST_ONCE_KEY) {
      throw new TypeError(`once: key must be a string of 1 to ${LONGEST_ONCE_KEY} characters`);
    }
    if (typeof action !== 'function')
      throw new TypeError(`once(${JSON.stringify(key)}): action must be a function`);
    const known = this.#results.get(key);
    if (known !== undefined) return (await known) as T;
    const result = this.#onceRecorded(once, key, action);
    this.#results.set(key, result);
    try {
      return (await result) as T;
    } catch (error) {
      this.#results.delete(key);
      throw error;
    }
  }

  /**
   * Tells Temporal that the call is alive, with details for operators. Holdfast beats by itself; call this to say how
   * far the tool has got. The details of an inline call stand in the heartbeat of its step, within half a second.
   *
   * @param details JSON; shown in the Temporal UI, so no secrets.
   * @throws JsonValueError where the details have no JSON form.
   */
  heartbeat(details?: unknown): void {
    this.#call?.heartbeat(toJsonValue(details));
  }

  /** The running call, to hear of its cancellation. */
  get task(): ContextTask {
    const call = this.#call;
    return {
      onCancel(handler) {
        if (typeof handler !== 'function') throw new TypeError('task.onCancel: handler must be a function');
        call?.onCancel?.(handler);
      },
    };
  }

  /**
   * Whether the call goes on after the tool has returned, as job: at first what the tool is declared as. Set it while the tool runs,
   * where only some calls take long; `false` makes what a long-running tool returns the outcome.
   *
   * @throws NoCallError outside of a tool call.
   * @throws ToolError (not retryable) where it is set to true in a call that runs inline, which can have no job.
   * @example
   * execute: async ({ month }, context) => {
   *   const ready = await findReport(month);
   *   if (ready !== undefined) return ready;
   *   context.longRunning = true;
   *   await orderReport(month, { callbackUrl: context.job.callbackUrl, token: context.job.token });
   *   return { status: 'ordered' };
   * }
   */
  get longRunning(): boolean {
    return this.#currentCall('longRunning').job?.longRunning ?? false;
  }

  set longRunning(longRunning: boolean) {
    const { job } = this.#currentCall('longRunning');
    if (typeof longRunning !== 'boolean') throw new TypeError('longRunning: expected true or false');
    if (job !== undefined) job.longRunning = longRunning;
    else if (longRunning) throw new NoJobError('longRunning');
  }

  /**
   * The job of this call, by which a service tells its outcome later. Any call has one, so that a tool can decide while it runs; it
   * counts if {@link Context.longRunning} is true once the tool has returned.
   *
   * @throws NoCallError outside of a tool call.
   * @throws ToolError (not retryable) in a call that runs inline, which can have no job.
   */
  get job(): ContextJob {
    const { job } = this.#currentCall('job');
    if (job === undefined) throw new NoJobError('job');
    return new CallJob(job);
  }

  /**
   * Saves a version of an artifact of the session, or of the user where the name begins with `user:`. It is there for others once the call
   * has succeeded, with the call's state; in callbacks, once their step is recorded. Another attempt of the call that saves in the same
   * order gets the same versions.
   *
   * @param artifact a part with `inlineData`, `text` or `fileData`, or a stream, of which no more than a block is in memory.
   * @returns the version, from 0.
   * @throws InvalidArtifactName, InvalidArtifact, ArtifactTooLarge, BucketFailed
   * @throws ServiceMissing where there is no artifact service.
   * @example
   * await context.saveArtifact('report.pdf', { stream: createReadStream(path), mimeType: 'application/pdf' });
   */
  async saveArtifact(filename: string, artifact: Part | ArtifactStream): Promise<number> {
    const version = await this.#artifacts.save(filename, artifact);
    const known = this.eventActions.artifactDelta[filename] ?? -1;
    this.eventActions.artifactDelta[filename] = Math.max(known, version);
    return version;
  }

  /**
   * An artifact of the session or its user as it was saved, the newest version by default; undefined where there is none.
   *
   * @throws ArtifactTooLarge for more than 64 MiB: read those with {@link Context.openArtifact}.
   * @throws ArtifactCorrupt, BucketFailed, UnknownBucket, InvalidArtifactName
   * @throws ServiceMissing where there is no artifact service.
   */
  async loadArtifact(filename: string, version?: number): Promise<Part | undefined> {
    return await this.#artifacts.load(filename, version);
  }

  /**
   * An artifact whose bytes are read as they are needed: all, or a range; undefined where there is none.
   *
   * @throws as {@link Context.loadArtifact}
   * @example
   * const opened = await context.openArtifact('orders.csv');
   * for await (const bytes of opened?.bytes ?? []) parser.write(bytes);
   */
  async openArtifact(filename: string, options?: OpenArtifactOptions): Promise<OpenedArtifact | undefined> {
    return await this.#artifacts.open(filename, options);
  }

  /** Names of the artifacts of the session and its user, sorted. @throws ServiceMissing where there is no artifact service. */
  async listArtifacts(): Promise<string[]> {
    return await this.#artifacts.list();
  }

  /**
   * Searches the memories of the user, from all sessions of the app; the best ones first.
   *
   * @throws ServiceMissing where the app has no `durable.memory`.
   * @example const { memories } = await context.searchMemory('favourite colour');
   */
  async searchMemory(query: string): Promise<SearchMemoryResponse> {
    return await this.#memory.search(query);
  }

  /**
   * Adds memories of the user, which later searches find in all sessions of the app. They are there at once, also where the call fails
   * afterwards. Another attempt that adds in the same order adds the same ones.
   *
   * @param memories at most 100, each with text of at most 32,000 characters. A memory takes the place of an earlier one of its `id`.
   * @throws ServiceMissing where the app has no `durable.memory`.
   * @throws InvalidMemory, EmbeddingsFailed, MemoryServiceFailed
   * @example await context.addMemory([{ content: { parts: [{ text: 'Prefers tea.' }] }, author: 'user' }]);
   */
  async addMemory(memories: readonly MemoryEntry[]): Promise<void> {
    await this.#memory.add(memories);
  }

  /**
   * Asks a person whether this call may go on. The run's result or error is then dropped, with its state. After a person has
   * decided, the tool runs again from its beginning, with {@link Context.toolConfirmation}. Wrap an action that must happen only once in
   * {@link Context.once}. Semantics: the method of `@google/adk` 2.0.0.
   *
   * @param request `payload` is JSON.
   * @throws NoCallError outside of a tool call.
   * @throws JsonValueError where the payload has no JSON form.
   * @example
   * execute: async ({ items }, context) => {
   *   const price = await context.once('price', () => priceOf(items));
   *   if (context.toolConfirmation === undefined) {
   *     context.requestConfirmation({ hint: `Order for ${price} EUR?`, payload: { price } });
   *     return;
   *   }
   *   return context.toolConfirmation.confirmed ? order(items) : { status: 'not ordered' };
   * }
   */
  requestConfirmation({ hint, payload }: { hint?: string; payload?: unknown }): void {
    const callId = this.#askingCall('requestConfirmation');
    const json = toJsonValue(payload);
    const question = new ToolConfirmation({
      confirmed: false,
      hint: shortHint(hint ?? ''),
      ...defined({ payload: json }),
    });
    this.eventActions.requestedToolConfirmations[callId] = question;
    this.#questions.ask({
      kind: 'confirmation',
      hint: question.hint,
      ...defined({ payload: json }),
    });
  }

  /**
   * Asks a person for a credential, after which the tool runs again from its beginning, as after
   * {@link Context.requestConfirmation}. Only the scheme and the name of the credential are told: no secret of `authConfig`.
   * Semantics: the method of `@google/adk` 2.0.0.
   *
   * @throws NoCallError outside of a tool call; TypeError where `authConfig` has no `credentialKey`.
   */
  requestCredential(authConfig: AuthConfig): void {
    const callId = this.#askingCall('requestCredential');
    assertCredentialKey('requestCredential', authConfig);
    const asked = wantedBy('requestCredential', authConfig);
    this.eventActions.requestedAuthConfigs[callId] = asked.authConfig;
    this.#questions.ask({ kind: 'credential', ...asked });
  }

  /**
   * The credential that a person has given for this user under this key; undefined where there is none yet. Semantics: the method of
   * `@google/adk` 2.0.0, but no state ever holds the secret.
   * @throws TypeError where it has no `credentialKey`.
   */
  getAuthResponse(authConfig: AuthConfig): AuthCredential | undefined {
    assertCredentialKey('getAuthResponse', authConfig);
    return this.#questions.credentialOf(authConfig.credentialKey);
  }

  /** {@link Context.credential} as it was when the call began. */
  get authCredential(): AuthCredential | undefined {
    return this.#questions.credential;
  }

  /**
   * The credential of the tool's `authConfig` as it is good now: tokens are refreshed before they end.
   * @param options.refused one that a server has just refused (401): another comes in its place, or a person consents again.
   * @example const { accessToken } = (await context.credential())?.oauth2 ?? {};
   */
  async credential({ refused }: { refused?: string } = {}): Promise<AuthCredential | undefined> {
    return await this.#questions.current(refused);
  }

  /**
   * Asks a person something and waits for the answer, for days if need be: meanwhile nothing runs. The tool then runs again from its
   * beginning, and the same question, the nth of the run, is answered at once. So ask in the same order each time, and wrap what must
   * happen only once in {@link Context.once}.
   *
   * @param request `responseSchema` of any kind that tools take; `payload` is JSON for those who show the question.
   * @returns the person's answer, as the schema returns it.
   * @throws NoCallError outside of a tool call.
   * @throws DefinitionError for a value that is no schema.
   * @throws JsonValueError where the payload has no JSON form.
   * @throws ToolError (not retryable) for an answer that doesn't match the schema any more.
   * @example
   * const { street } = await context.requestInput({
   *   message: 'Where should the parcel go?',
   *   responseSchema: z.object({ street: z.string() }),
   * });
   */
  async requestInput<const TSchema extends SchemaLike | undefined = undefined>(
    request: InputRequest<TSchema>,
  ): Promise<InputAnswer<TSchema>> {
    this.#askingCall('requestInput');
    return (await nextInput(this.#questions, request)) as InputAnswer<TSchema>;
  }

  async #onceRecorded(once: CallInit['once'], key: string, action: () => unknown): Promise<unknown> {
    const recorded = await once.get(key);
    if (recorded !== undefined) return (recorded as { value?: unknown }).value;
    const value = onceResult(key, await action());
    const first = await once.put(key, value === undefined ? {} : { value });
    return (first as { value?: unknown }).value;
  }

  #askingCall(member: string): string {
    if (this.functionCallId === undefined) throw new NoCallError(member);
    return this.functionCallId;
  }

  get #artifacts(): ContextArtifacts {
    return serviceOf(this.#services.artifacts, 'Artifact');
  }

  get #memory(): ContextMemory {
    return serviceOf(this.#services.memory, 'Memory');
  }

  #currentCall(member: string): CallInit {
    if (this.#call === undefined) throw new NoCallError(member);
    return this.#call;
  }
}

/** Questions of the run that the context belongs to. */
export function questionsOf(context: Context): CallQuestions {
  // Tests bring objects of their own in place of a context.
  return context[QUESTIONS] ?? new CallQuestions();
}
