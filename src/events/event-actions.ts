import type { AuthCredential } from './auth-credential.ts';

/**
 * A request for a credential on the wire. The secret itself never travels here.
 *
 * Field names: `AuthConfig` of `@google/adk` 2.0.0.
 */
export interface AuthConfig {
  /** Security scheme in OpenAPI 3's words. */
  authScheme: object;
  rawAuthCredential?: AuthCredential;
  exchangedAuthCredential?: AuthCredential;
  /** Name under which the credential is kept. */
  credentialKey: string;
  /** Host of the authorization server where a person consents. Holdfast's own; set by the worker. */
  provider?: string;
}

/** A question to a person, and the answer. Semantics: `ToolConfirmation` of `@google/adk` 2.0.0. */
export class ToolConfirmation {
  hint: string;
  confirmed: boolean;
  /** JSON only. */
  payload?: unknown;

  constructor({ hint, confirmed, payload }: { hint?: string; confirmed: boolean; payload?: unknown }) {
    this.hint = hint ?? '';
    this.confirmed = confirmed;
    if (payload !== undefined) this.payload = payload;
  }
}

/** Effects of an event beside its content. Fields: `EventActions` of `@google/adk` 2.0.0. */
export interface EventActions {
  /** The model isn't asked about the function responses of this event: it is final. */
  skipSummarization?: boolean;
  /** New values of the state by key, prefixes `app:`, `user:` and `temp:` included; JSON only. */
  stateDelta: { [key: string]: unknown };
  /** New versions of artifacts by file name. */
  artifactDelta: { [key: string]: number };
  /** Name of the agent that acts from here on. */
  transferToAgent?: string;
  /** Ends the nearest loop agent. */
  escalate?: boolean;
  /** By function call id. */
  requestedAuthConfigs: { [key: string]: AuthConfig };
  /** By function call id. */
  requestedToolConfirmations: { [key: string]: ToolConfirmation };
  agentState?: Record<string, unknown>;
  endOfAgent?: boolean;
  /** Agents don't see the events from this invocation on; adk-python's field. */
  rewindBeforeInvocationId?: string;
}

/** Fills in the maps that `actions` lacks. Semantics: `createEventActions` of `@google/adk` 2.0.0. */
export function createEventActions(actions: Partial<EventActions> = {}): EventActions {
  return {
    ...actions,
    stateDelta: actions.stateDelta ?? {},
    artifactDelta: actions.artifactDelta ?? {},
    requestedAuthConfigs: actions.requestedAuthConfigs ?? {},
    requestedToolConfirmations: actions.requestedToolConfirmations ?? {},
  };
}
