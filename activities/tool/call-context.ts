import { MOST_TRANSFERS } from '../../src/agents/agent-transfer.ts';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { AppSettings } from '../../src/app/app-settings.ts';
import type { AuthCredential } from '../../src/events/auth-credential.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { callActionsOf } from '../../src/flows/call-actions.ts';
import type { Connections } from '../../src/oauth/connections.ts';
import { beginConsent } from '../../src/oauth/consent.ts';
import { serverName } from '../../src/oauth/oauth-failed.ts';
import { isForPeople, isOAuthScheme, type OAuthProvider, scopesOf } from '../../src/oauth/oauth-provider.ts';
import { covers, currentTokens, tokensOfApp } from '../../src/oauth/tokens.ts';
import { defined } from '../../src/protocol/json.ts';
import type { SealedCredential } from '../../src/store/credentials/credential-store.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { Store } from '../../src/store/store.ts';
import type { BegunCall, CallActions } from '../../src/store/turns/call-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Asked, WantedCredential } from '../../src/tools/call-questions.ts';
import { Context } from '../../src/tools/context.ts';
import type { ContextServices } from '../../src/tools/context-services.ts';
import type { CallInit, ContextInit } from '../../src/tools/invocation-context.ts';
import { InvocationContext, type TranscriptView } from '../../src/tools/invocation-context.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';

type StartedCall = Extract<BegunCall, { kind: 'started' }>;

/** The surroundings of a call's user code. */
export interface ContextParts extends Pick<StartedCall, 'names' | 'invocationId'> {
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

/** Looks the tool's credential up while its call begins: that costs no time. Undefined where that finds nothing, or fails. */
export async function storedBefore(
  { credentials }: Pick<ActivityDependencies, 'credentials'>,
  session: string,
  tool: BaseTool | undefined,
): Promise<SealedCredential | undefined> {
  const { credentialKey } = tool?.gate?.credential?.authConfig ?? {};
  if (credentialKey === undefined) return undefined;
  return await credentials.store.find({ session, credentialKey }).catch(() => undefined);
}

/** The credentials that one run of a call has. They are in memory for as long as it takes, and nowhere else. */
export class CallCredentials {
  readonly #connections: Connections;
  readonly #owner: { app: string; userId: string };
  readonly #providers: AppSettings['oauth'];
  #before: Promise<SealedCredential | undefined> | undefined;
  /** With the scopes of tokens. */
  readonly #opened = new Map<string, { credential: AuthCredential; scopes: readonly string[] | undefined }>();
  /** Access tokens that servers have refused, by the keys of their credentials. */
  readonly #refused = new Map<string, string>();

  /** @param before a look-up that has begun before it was known whose credential it is. */
  constructor(
    { credentials, deployment }: Pick<ActivityDependencies, 'credentials' | 'deployment'>,
    { app, userId }: Pick<SessionNames, 'app' | 'userId'>,
    before?: Promise<SealedCredential | undefined>,
  ) {
    this.#before = before;
    this.#connections = credentials;
    this.#owner = { app, userId };
    this.#providers = settingsOf(deployment, app).oauth;
  }

  get(credentialKey: string): AuthCredential | undefined {
    return this.#opened.get(credentialKey)?.credential;
  }

  /** Those that people have answered the call. */
  async openGiven(credentialKeys: Iterable<string>): Promise<void> {
    for (const credentialKey of credentialKeys)
      await this.open({ authConfig: { credentialKey, authScheme: {} } });
  }

  /**
   * Whether there is one: tokens of the app itself, or what the user has under this key.
   *
   * @throws OAuthFailed
   */
  async open({ authConfig, provider: own }: WantedCredential): Promise<boolean> {
    const { credentialKey } = authConfig;
    const scopes = scopesOf(authConfig);
    const known = this.#opened.get(credentialKey);
    if (known !== undefined && covers(known.scopes, scopes)) return true;
    const provider = own ?? this.#providers[credentialKey];
    const need = { scopes, refused: this.#refused.get(credentialKey) };
    if (provider !== undefined && !isForPeople(provider)) {
      const credential = await tokensOfApp(this.#owner.app, credentialKey, { ...need, provider });
      this.#opened.set(credentialKey, { credential, scopes: undefined });
      return true;
    }
    const found = await this.#find(credentialKey);
    const credential = found && (await currentTokens(this.#connections, found, { ...need, provider }));
    if (found === undefined || credential === undefined) return false;
    this.#opened.set(credentialKey, { credential, scopes: found.scopes });
    return true;
  }

  /** A credential as it is good now. @param refused an access token that isn't any more. @throws OAuthFailed */
  async renewed(wanted: WantedCredential, refused: string | undefined): Promise<AuthCredential | undefined> {
    const { credentialKey } = wanted.authConfig;
    if (refused !== undefined) this.#refused.set(credentialKey, refused);
    this.#opened.delete(credentialKey);
    await this.open(wanted);
    return this.get(credentialKey);
  }

  /**
   * The question for a credential as people get it: with the server where they consent, and for clients of ADK with the address there.
   * The server is kept, so that gateways know it.
   *
   * @throws OAuthFailed, CredentialKeyMissing
   */
  async asks({ authConfig, provider: own }: WantedCredential): Promise<Asked> {
    const { credentialKey, authScheme } = authConfig;
    if (!isOAuthScheme(authScheme)) return { kind: 'credential', authConfig };
    const told = own ?? this.#providers[credentialKey];
    if (told !== undefined) await this.keep(credentialKey, told);
    const provider = told ?? (await this.#connections.findProvider(this.#owner.app, credentialKey));
    if (provider === undefined) return { kind: 'credential', authConfig };
    const shown = { ...authConfig, provider: serverName(provider) };
    const { grant, authorizationEndpoint, clientId, redirectUri } = provider;
    const isADK = own !== undefined && grant === 'authorization_code' && authorizationEndpoint !== undefined;
    if (!isADK || clientId === undefined) return { kind: 'credential', authConfig: shown };
    const wanted = { ...this.#owner, credentialKey, needs: scopesOf(authConfig) };
    const way = await beginConsent(this.#connections, wanted, { redirectUri: redirectUri ?? '' });
    const oauth2 = { clientId, authUri: way.url, state: way.state, ...defined({ redirectUri }) };
    const exchangedAuthCredential: AuthCredential = { authType: 'oauth2', oauth2 };
    return { kind: 'credential', authConfig: { ...shown, exchangedAuthCredential } };
  }

  async keep(credentialKey: string, provider: OAuthProvider): Promise<void> {
    await this.#connections.keepProvider(this.#owner.app, credentialKey, provider);
  }

  async #find(credentialKey: string): Promise<SealedCredential | undefined> {
    const before = await this.#before;
    this.#before = undefined;
    if (before?.credentialKey === credentialKey) return before;
    return await this.#connections.store.find({ ...this.#owner, credentialKey });
  }
}
