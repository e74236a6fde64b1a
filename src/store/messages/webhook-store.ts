/** What a sender was answered. */
export interface WebhookAnswered {
  status: number;
  /** JSON; absent for none. */
  body?: unknown;
}

/** A webhook that came in. */
export interface WebhookDelivery {
  source: string;
  /** That of its sender: the same for each attempt. */
  id: string;
}

/** Webhooks that came in, so that each is handled once. Kept for 30 days. */
export interface WebhookStore {
  /**
   * Takes a delivery to handle it. Nobody else does until it is answered or given back, or its time is over. Repeating it changes nothing.
   *
   * @param take `holder`: random, of this one attempt; `time`: milliseconds.
   */
  takeDelivery(
    take: WebhookDelivery & { holder: string; time: number },
  ): Promise<{ kind: 'taken' } | { kind: 'busy' } | { kind: 'answered'; answer: WebhookAnswered }>;
  /** It was handled: whoever sends it again gets this answer. */
  answerDelivery(answer: WebhookDelivery & { holder: string; answer: WebhookAnswered }): Promise<void>;
  /** It was not handled, and may be taken again. */
  giveDeliveryBack(give: WebhookDelivery & { holder: string }): Promise<void>;
}
