import { codedError } from '../contract/error.ts';
import type { AuthCredential } from '../events/auth-credential.ts';
import type { AuthConfig } from '../events/event-actions.ts';
import { type OAuthProvider, providerOfAuthConfig } from '../oauth/oauth-provider.ts';
import { defined, isRecord } from '../protocol/json.ts';
import type { JsonSchemaObject } from '../schema/compiled-schema.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { ResolvedApproval } from './approval-options.ts';

/** @throws TypeError */
export function assertCredentialKey(member: string, authConfig: unknown): asserts authConfig is AuthConfig {
  const key = isRecord(authConfig) ? authConfig.credentialKey : undefined;
  if (typeof key === 'string' && key !== '') return;
  throw new TypeError(
    `${member}: authConfig.credentialKey must be a name, got ${key === '' ? "''" : kindOf(key)}`,
  );
}

/** Credentials of one run of a call. */
export interface OpenCredentials {
  /** Undefined where it is not open. */
  get(credentialKey: string): AuthCredential | undefined;
  /** A credential as it is good now; undefined where a person has to give it. @throws OAuthFailed */
  renewed(wanted: WantedCredential, refused: string | undefined): Promise<AuthCredential | undefined>;
}

/** Answers of people to a call by now. */
export interface CallAnswers {
  /** Answers to `requestInput`, in the order of the requests. */
  inputs?: readonly unknown[];
  /** Open credentials, and others of the user. */
  credentials?: OpenCredentials;
  /** The credential of the tool's own `authConfig`. */
  wanted?: WantedCredential | undefined;
  /** The gate of the tool that runs: it was asked before, and isn't asked again. */
  passed?: object | undefined;
  /** Those of the confirmation that the call has. */
  terms?: ResolvedApproval | undefined;
  /** Asks a question, and waits for its answer while the run goes on; undefined where no run can. */
  hold?: ((question: HeldQuestion) => Promise<HeldAnswer>) | undefined;
}

/** A question of a call that holds it open: its own run goes on with the answer. */
export interface HeldQuestion {
  question: Extract<Asked, { kind: 'input' }>;
  /** Milliseconds until it is too late for an answer, at most. Less where the tool's own `timeout` is nearly over. */
  within: number;
  /** Fires when nobody wants the answer any more. */
  signal: AbortSignal;
}

/** How a question that was held open has ended. `refused`: nobody was asked. */
export type HeldAnswer =
  | { status: 'answered'; response: unknown }
  | { status: 'expired' | 'cancelled' }
  | { status: 'refused'; reason: string };

/** A credential that a call needs. */
export interface WantedCredential {
  /** The part that events, histories and requests may have. */
  authConfig: AuthConfig;
  /** The authorization server that the tool names, with its client's secret: nothing for Temporal. */
  provider?: OAuthProvider;
}

/** @throws DefinitionError for an authorization server that is described wrongly. */
export function wantedBy(owner: string, authConfig: AuthConfig): WantedCredential {
  const { authScheme, credentialKey } = authConfig;
  const shown = { authScheme: structuredClone(authScheme), credentialKey };
  return { authConfig: shown, ...defined({ provider: providerOfAuthConfig(owner, authConfig) }) };
}

/** Questions of a call to a person while it ran. */
export type Asked =
  /** Without terms those of the call's request before, or the tool's. */
  | { kind: 'confirmation'; hint: string; payload?: unknown; terms?: ResolvedApproval }
  | ({ kind: 'credential' } & WantedCredential)
  | { kind: 'input'; message: string; responseSchema?: JsonSchemaObject; payload?: unknown };

/** The tool's run ends here, and begins anew once a person has answered. */
class InputPending extends codedError('HOLDFAST_INPUT_PENDING') {
  constructor() {
    super('the call waits for a person: it runs again with the answer');
  }
}

/** The questions of one run of a call, and the answers that it has. Each run has its own. */
export class CallQuestions {
  readonly #answers: CallAnswers;
  readonly #asked = new Map<Asked['kind'], Asked>();
  #inputs = 0;

  constructor(answers: CallAnswers = {}) {
    this.#answers = answers;
  }

  /** The next question, first the confirmation, then the credential; undefined if there is no question. */
  get asked(): Asked | undefined {
    return this.#asked.get('confirmation') ?? this.#asked.get('credential') ?? this.#asked.get('input');
  }

  get credential(): AuthCredential | undefined {
    return this.credentialOf(this.#answers.wanted?.authConfig.credentialKey ?? '');
  }

  get passed(): object | undefined {
    return this.#answers.passed;
  }

  get terms(): ResolvedApproval | undefined {
    return this.#answers.terms;
  }

  /** Asks a question while the run goes on, and waits for its answer, which only this run gets. */
  async hold(question: HeldQuestion): Promise<HeldAnswer> {
    const { hold } = this.#answers;
    if (hold === undefined) return { status: 'refused', reason: 'nobody can be asked here' };
    return await hold(question);
  }

  credentialOf(credentialKey: string): AuthCredential | undefined {
    return this.#answers.credentials?.get(credentialKey);
  }

  /**
   * A credential as it is good now, the tool's own unless another is wanted.
   *
   * @param refused an access token that isn't good any more.
   * @throws InputPending where a person has to give it.
   */
  async current(refused?: string, wanted = this.#answers.wanted): Promise<AuthCredential | undefined> {
    const { credentials } = this.#answers;
    if (credentials === undefined || wanted === undefined) return this.credential;
    const renewed = await credentials.renewed(wanted, refused);
    if (renewed !== undefined) return renewed;
    this.ask({ kind: 'credential', ...wanted });
    throw new InputPending();
  }

  /** The last one counts, as in ADK, whose actions hold one for each call. */
  ask(question: Extract<Asked, { kind: 'confirmation' | 'credential' }>): void {
    this.#asked.set(question.kind, question);
  }

  /**
   * The answer to this run's next question.
   *
   * @throws InputPending where there is none yet.
   */
  input(question: Extract<Asked, { kind: 'input' }>): unknown {
    const { inputs = [] } = this.#answers;
    const index = this.#inputs;
    this.#inputs += 1;
    if (index < inputs.length) return inputs[index];
    // The first of several questions at once is asked: the others come when the call runs again.
    if (!this.#asked.has('input')) this.#asked.set('input', question);
    throw new InputPending();
  }
}
