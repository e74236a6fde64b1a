import { randomBytes, randomUUID } from 'node:crypto';
import { Context as ActivityContext } from '@temporalio/activity';
import { noopMetricMeter } from '@temporalio/common';
import { createActivities, type HoldfastActivities } from '../../activities/create-activities.ts';
import { TurnMetrics } from '../../activities/telemetry/turn-metrics.ts';
import type { App } from '../../src/app/app.ts';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import type { Confirm } from '../../src/contract/approvals.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { CredentialVault } from '../../src/credentials/credential-vault.ts';
import { TranscriptCache } from '../../src/flows/transcript-cache.ts';
import { Connections } from '../../src/oauth/connections.ts';
import type { NotifyInput, VerifiedDecision, VerifyDecisionInput } from '../../src/protocol/gate.ts';
import { KEEP_MESSAGES, NOTIFY, VERIFY_DECISION } from '../../src/protocol/names.ts';
import type { KeepMessagesInput, KeepMessagesResult } from '../../src/protocol/step.ts';
import type { NewRequest } from '../../src/store/approvals/approval-store.ts';
import type { Store } from '../../src/store/store.ts';
import { deploy } from '../../worker/deploy.ts';
import { asAttempt } from '../setup/activity-attempt.ts';
import { AskingTurn } from '../store/suite/approvals/asking-turn.ts';
import type { Turn, TurnSettings } from '../store/suite/turns/turn.ts';

/** The activities that look at decisions, as a worker runs them, over a real store. */
export class ActivityScene {
  readonly store: Store;
  readonly vault: CredentialVault;
  readonly activities: HoldfastActivities;
  /** What was warned of, as JSON. */
  readonly warnings: string[] = [];

  readonly keys = parseCredentialKeys(`k1:${randomBytes(32).toString('base64')}`);

  constructor(store: Store, app: App) {
    this.store = store;
    const silent = () => undefined;
    const warn = (message: string, more: unknown) =>
      void this.warnings.push(JSON.stringify({ message, more }));
    this.vault = new CredentialVault(store.credentials, this.keys);
    this.activities = createActivities({
      deployment: deploy({ apps: [app] }),
      store,
      credentials: new Connections(store.credentials, this.keys),
      transcripts: new TranscriptCache(),
      artifacts: new ArtifactBytes(store.blobs),
      logger: { debug: silent, info: silent, warn, error: warn },
      telemetry: { tracing: undefined, metrics: new TurnMetrics(noopMetricMeter) },
      transcriptUrl: undefined,
      searchAttributes: false,
      publicUrl: () => undefined,
      credentialKeys: undefined,
      temporal: () => ActivityContext.current().client,
      sendMessage: async () => {},
      conceal: false,
    });
  }

  async asked(
    more: Partial<NewRequest> = {},
    opening: Parameters<Turn['open']>[1] = {},
    settings: TurnSettings = {},
  ): Promise<AskedCall> {
    const names = { app: 'shop', userId: 'ada', sessionId: randomUUID() };
    const turn = new AskingTurn(this.store, { names, ...settings });
    await turn.opened(1, opening);
    const request = turn.request(1, 0, more);
    await turn.commitAsking(1, [request]);
    return new AskedCall(this, turn, request);
  }

  keep(input: KeepMessagesInput): Promise<KeepMessagesResult> {
    return attempted(() => this.activities[KEEP_MESSAGES](input));
  }

  notify(input: NotifyInput, details?: unknown, onBeat?: (details: unknown) => void): Promise<void> {
    return attempted(() => this.activities[NOTIFY](input), details, onBeat);
  }
}

/** A call that waits for a person. */
export class AskedCall {
  readonly turn: AskingTurn;
  readonly request: NewRequest;
  readonly #scene: ActivityScene;
  #entries = 0;

  constructor(scene: ActivityScene, turn: AskingTurn, request: NewRequest) {
    this.#scene = scene;
    this.turn = turn;
    this.request = request;
  }

  input(more: Partial<VerifyDecisionInput>): VerifyDecisionInput {
    const { requestId, kind, callKey, callId, agent, tool } = this.request;
    this.#entries += 1;
    return {
      v: 1,
      session: this.turn.session,
      agent,
      invocationId: this.turn.invocationId,
      callKey,
      callId,
      tool,
      requestId,
      kind,
      entryId: `${requestId}/${this.#entries}`,
      at: Date.now(),
      escalated: false,
      ...more,
    };
  }

  confirm(confirm: Confirm, more: Partial<VerifyDecisionInput> = {}): Promise<VerifiedDecision> {
    return this.verify(this.input({ confirm, ...more }));
  }

  verify(input: VerifyDecisionInput): Promise<VerifiedDecision> {
    return attempted(() => this.#scene.activities[VERIFY_DECISION](input));
  }

  async row() {
    const row = await this.turn.row(this.request.requestId);
    if (row === undefined) throw new Error('the request is in the store');
    return row;
  }

  /** What is recorded of decisions: kind, who, and why it doesn't count. */
  async history(): Promise<string[]> {
    const { history } = await this.row();
    return history.map(({ kind, by, confirmed, reason }) =>
      [kind, by?.principal, confirmed, reason].filter((part) => part !== undefined).join(' '),
    );
  }
}

/** Runs an activity's attempt, with the heartbeat details of the one before. */
function attempted<T>(
  work: () => Promise<T>,
  heartbeatDetails?: unknown,
  onBeat?: (details: unknown) => void,
): Promise<T> {
  // It beats by itself as soon as it can.
  const beats = { heartbeatDetails, heartbeatTimeoutMs: 30 };
  return asAttempt({ scheduledTimestampMs: Date.now(), ...beats }, work, onBeat);
}
