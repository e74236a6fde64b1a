import { MOST_TRANSFERS } from '../../src/agents/agent-transfer.ts';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { CredentialVault } from '../../src/credentials/credential-vault.ts';
import type { AuthCredential } from '../../src/events/auth-credential.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { callActionsOf } from '../../src/flows/call-actions.ts';
import { defined } from '../../src/protocol/json.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { Store } from '../../src/store/store.ts';
import type { BegunCall, CallActions } from '../../src/store/turns/call-store.ts';
import { Context } from '../../src/tools/context.ts';
import type { ContextServices } from '../../src/tools/context-services.ts';
import type { CallInit, ContextInit } from '../../src/tools/invocation-context.ts';
import { InvocationContext, type TranscriptView } from '../../src/tools/invocation-context.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';

type StartedCall = Extract<BegunCall, { kind: 'started' }>;

/** The surroundings of a call's user code. */
interface ContextParts extends Pick<StartedCall, 'names' | 'invocationId'> {
  userContent?: StartedCall['userContent'] | undefined;
  agent: LlmAgent;
  /** The part that user code sees. */
  state: Record<string, unknown>;
  abortSignal: AbortSignal;
  /** Left out where user code doesn't need it. */
  transcript?: TranscriptView | undefined;
  /** How often the turn was transferred by now. */
  transfers?: number | undefined;
  services?: ContextServices;
}

/** Tools that transfer by the model's word look at the rules; user code knows what it does, as in `@google/adk` 2.0.0. */
function assertTransfers({ transferToAgent: name }: CallActions, context: InvocationContext): void {
  if (name === undefined) return;
  const { agent, transfers = 0 } = InvocationContext.initOf(context);
  const problem =
    transfers < MOST_TRANSFERS
      ? agent?.rootAgent.findAgent(name) === undefined &&
        `unknown agent ${JSON.stringify(name.slice(0, 128))}`
      : `the turn was transferred ${transfers} times, and at most ${MOST_TRANSFERS} transfers are allowed`;
  if (problem) throw new InvalidResultError(`context.actions.transferToAgent: ${problem}`);
}

/** The parts of a context for user code of a call that has begun. */
export function contextParts(
  {
    names,
    invocationId,
    userContent,
    state,
  }: Pick<ContextParts, 'names' | 'invocationId' | 'userContent' | 'state'>,
  more: Pick<ContextParts, 'agent' | 'abortSignal' | 'transfers' | 'services'>,
): ContextParts {
  return { names, invocationId, userContent, state, ...more };
}

/** The parts of all contexts of a call, and of the contexts of the toolsets that have its tool. */
export function contextInitOf(parts: ContextParts): ContextInit {
  const { names, invocationId, agent, userContent, state, abortSignal, transcript, transfers, services } =
    parts;
  return {
    appName: names.app,
    userId: names.userId,
    sessionId: names.sessionId,
    invocationId,
    agentName: agent.name,
    agent,
    state,
    abortSignal,
    ...services,
    ...defined({ userContent, transcript, transfers }),
  };
}

/** For a call without a row in the ledger, or whose results are not to be kept. */
export const NOTHING_ONCE: CallInit['once'] = { get: () => undefined, put: async (_key, value) => value };

/** The results of `context.once` that a call has, and those that it comes to have, as the ledger keeps them. */
export function onceIn(
  { turns }: Pick<Store, 'turns'>,
  call: { session: string; callKey: string; attempt?: number },
  recorded: Readonly<Record<string, unknown>>,
): CallInit['once'] {
  const { session, callKey } = call;
  const once = new Map(Object.entries(recorded));
  return {
    get: async (key) => (once.has(key) ? once.get(key) : await turns.askOnce({ ...call, key })),
    put: async (key, value) => {
      const first = await turns.recordOnce({ session, callKey, key, value });
      once.set(key, first);
      return first;
    },
  };
}

/**
 * A context of a run of a call.
 *
 * @param before what callbacks did for it when the call was planned: the run's effects begin with that.
 */
export function callContext(
  init: ContextInit,
  call: CallInit,
  abortSignal: AbortSignal,
  before?: CallActions,
): Context {
  const { artifacts: saved, ...actions } = before ?? {};
  if (saved !== undefined) init.artifacts?.restore?.(saved);
  return new Context({
    ...init,
    abortSignal,
    call,
    eventActions: createEventActions(structuredClone(actions)),
  });
}

/**
 * The actions of user code on a call's context, beside its result.
 *
 * @throws InvalidResultError naming the action that can't be kept.
 */
export function effectsOf({ actions, invocationContext }: Context): CallActions {
  const { saved = [] } = InvocationContext.initOf(invocationContext).artifacts ?? {};
  const effects = { ...callActionsOf(actions), ...(saved.length > 0 ? { artifacts: [...saved] } : {}) };
  assertTransfers(effects, invocationContext);
  // The invocation ends with this step: nobody is asked for a summary.
  return invocationContext.endInvocation ? { ...effects, skipSummarization: true } : effects;
}

type CredentialReader = Pick<CredentialVault, 'find' | 'open'>;

/** The credentials that one run of a call has. They are in memory for as long as it takes, and nowhere else. */
export class CallCredentials {
  readonly #reader: CredentialReader;
  readonly #owner: { app: string; userId: string };
  readonly #given: ReadonlyMap<string, string>;
  readonly #opened = new Map<string, AuthCredential>();

  /** @param given references by the key of the credential: what people have answered the call. */
  constructor(
    reader: CredentialReader,
    { app, userId }: Pick<SessionNames, 'app' | 'userId'>,
    given: ReadonlyMap<string, string>,
  ) {
    this.#reader = reader;
    this.#owner = { app, userId };
    this.#given = given;
  }

  get(credentialKey: string): AuthCredential | undefined {
    return this.#opened.get(credentialKey);
  }

  /** Those that people have answered the call. */
  async openGiven(): Promise<void> {
    for (const credentialKey of this.#given.keys()) await this.open(credentialKey);
  }

  /** Whether there is one: what the call was answered, else what the user has under this key. */
  async open(credentialKey: string): Promise<boolean> {
    if (this.#opened.has(credentialKey)) return true;
    const credential =
      (await this.#openAnswer(credentialKey)) ?? (await this.#reader.open({ ...this.#owner, credentialKey }));
    if (credential === undefined) return false;
    this.#opened.set(credentialKey, credential);
    return true;
  }

  /** Opens only a credential that is stored under this key: an answer may name any credential of the user. */
  async #openAnswer(credentialKey: string): Promise<AuthCredential | undefined> {
    const credentialRef = this.#given.get(credentialKey);
    if (credentialRef === undefined) return undefined;
    const which = { ...this.#owner, credentialRef };
    const stored = await this.#reader.find(which);
    return stored?.credentialKey === credentialKey ? await this.#reader.open(which) : undefined;
  }
}
