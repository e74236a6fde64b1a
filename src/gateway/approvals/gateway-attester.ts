import type { SigningOptions } from '../../approvals/attestation.ts';
import { type Decision, signDecision } from '../../approvals/decision-attestation.ts';
import { GATEWAY_ISSUER, gatewayKey } from '../../approvals/gateway-issuer.ts';
import type { PrivateJwk } from '../../approvals/issuer.ts';
import { signMessage } from '../../approvals/message-attestation.ts';
import { isResultSensitive } from '../../approvals/sensitive.ts';
import type { Decided } from '../../client/approvals/approvals.ts';
import { RequestNotFound } from '../../client/client-errors.ts';
import type { OutgoingMessage } from '../../client/messages/outgoing-message.ts';
import type { ConfirmOptions, ProvideInputOptions, ShownRequest } from '../../contract/approvals.ts';
import { credentialKeysOf } from '../../credentials/credential-keys.ts';
import { digestOf } from '../../protocol/canonical-json.ts';
import { messageDigest } from '../../protocol/message.ts';
import type { GatewayOptions } from '../gateway-options.ts';

/** The gateway's channels, in the words of its pages. */
export const CHANNELS = {
  http: 'over HTTP',
  inbox: 'in the inbox',
  link: 'by a link',
  slack: 'in Slack',
  webhook: 'by a webhook',
} as const;

/** Where a decision was made. */
export type Channel = keyof typeof CHANNELS;

/** A person whom a channel has verified. */
export interface Decider {
  person: string;
  channel: Channel;
}

/** The one way from a channel to a turn: a person whom the channel knows, the gateway's word for it, the client. */
export class GatewayAttester {
  readonly #approvals: GatewayOptions['client']['approvals'];
  readonly #records: GatewayOptions['records'];
  readonly #key: PrivateJwk | undefined;

  constructor({
    client,
    records,
    credentialKeys,
  }: Pick<GatewayOptions, 'client' | 'records' | 'credentialKeys'>) {
    this.#approvals = client.approvals;
    this.#records = records;
    this.#key = credentialKeys === undefined ? undefined : gatewayKey(credentialKeysOf(credentialKeys));
  }

  /** Whether a worker can know who has decided. */
  get attests(): boolean {
    return this.#key !== undefined;
  }

  /**
   * Approves, rejects, or takes a vote back, as this person.
   *
   * @param shown the request as it was shown to the person: about what was changed since nothing is decided.
   * @throws as `Approvals.confirm`
   */
  async confirm(
    decider: Decider,
    { requestId }: { requestId: string },
    options: Omit<ConfirmOptions, 'attestation' | 'shown'>,
    shown?: ShownRequest,
  ): Promise<Decided> {
    const about = shown ?? (await this.#approvals.get({ requestId }));
    if (about === undefined) throw new RequestNotFound('there is no such request');
    const attestation = await this.#decision(decider, { requestId, ...about }, options);
    return await this.#approvals.confirm(
      { requestId },
      { ...options, ...shownField(shown), ...(attestation === undefined ? {} : { attestation }) },
    );
  }

  /**
   * Answers a request for input as this person. An answer that is kept secret names nobody: the gateway's word for it would have its
   * digest.
   *
   * @param shown as of {@link confirm}
   * @throws as `Approvals.provideInput`
   */
  async provideInput(
    { person, channel }: Decider,
    { requestId }: { requestId: string },
    given: Omit<ProvideInputOptions, 'attestation' | 'shown'>,
    shown?: ShownRequest,
  ): Promise<Decided> {
    const row = await this.#approvals.get({ requestId });
    if (row === undefined) throw new RequestNotFound('there is no such request');
    const options = { ...given, ...shownField(shown) };
    const isAttested =
      row.kind === 'input' && !isResultSensitive(row.sensitive) && given.response !== undefined;
    if (this.#key === undefined || !isAttested)
      return await this.#approvals.provideInput({ requestId }, options);
    const { session, argsDigest } = shown ?? row;
    const attestation = await signDecision(
      {
        ...{ issuer: GATEWAY_ISSUER, approver: person, channel, session, requestId, argsDigest },
        decision: 'approve',
        responseDigest: digestOf(given.response),
      },
      this.#key,
      await this.#signedNow(),
    );
    return await this.#approvals.provideInput({ requestId }, { ...options, attestation });
  }

  /** The message with the gateway's word for who sends it, where it can give one. */
  async attestMessage<Message extends OutgoingMessage & { messageId: string }>(
    person: string,
    message: Message,
  ): Promise<Message> {
    if (this.#key === undefined || message.attestation !== undefined) return message;
    const { app, userId, sessionId, messageId } = message;
    const digest = messageDigest(message.message, message.stateDelta);
    const names = { app, userId, sessionId, messageId };
    const claims = { issuer: GATEWAY_ISSUER, principal: person, ...names, messageDigest: digest };
    return { ...message, attestation: await signMessage(claims, this.#key, await this.#signedNow()) };
  }

  async #decision(
    { person, channel }: Decider,
    { session, requestId, argsDigest }: { session: string; requestId: string; argsDigest: string },
    { confirmed, withdraw, args, payload }: Omit<ConfirmOptions, 'attestation' | 'shown'>,
  ): Promise<string | undefined> {
    if (this.#key === undefined) return undefined;
    const decision: Decision = withdraw ? 'withdraw' : confirmed ? 'approve' : 'reject';
    const about = { issuer: GATEWAY_ISSUER, approver: person, channel, session, requestId, argsDigest };
    const edited = decision === 'approve' && args !== undefined;
    return await signDecision(
      {
        ...about,
        decision,
        ...(edited ? { editedArgsDigest: digestOf(args) } : {}),
        ...(payload === undefined ? {} : { payloadDigest: digestOf(payload) }),
      },
      this.#key,
      await this.#signedNow(),
    );
  }

  /** By the clock that all gateways share: one whose own is set wrong attests all the same. */
  async #signedNow(): Promise<SigningOptions> {
    return this.#records === undefined ? {} : { now: await this.#records.now() };
  }
}

function shownField(shown: ShownRequest | undefined): { shown?: ShownRequest } {
  return shown === undefined ? {} : { shown };
}
