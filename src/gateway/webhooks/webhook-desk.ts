import { HoldfastError } from '../../contract/error.ts';
import { shortDigest } from '../../protocol/identity.ts';
import type { GatewayAttester } from '../approvals/gateway-attester.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import type { WebhookHoldfast, WebhookSource } from './options.ts';

interface Delivery {
  name: string;
  source: WebhookSource;
  /** The sender's. */
  id: string;
}

/** What the handler of one delivery may do. */
export function webhookDesk(
  { client }: Pick<GatewayOptions, 'client'>,
  attester: GatewayAttester,
  { name, source, id }: Delivery,
): WebhookHoldfast {
  let sent = 0;
  const personOf = (person = `webhook:${name}`): string => {
    if (person === `webhook:${name}` || source.persons?.includes(person)) return person;
    throw new HoldfastError(
      'HOLDFAST_WEBHOOK_MISUSED',
      `person: the source ${name} may name those of its persons only`,
    );
  };
  return {
    async confirm({ requestId }, { person, ...options }) {
      const decider = { person: personOf(person), channel: 'webhook' } as const;
      return await attester.confirm(decider, { requestId }, options);
    },
    async provideInput({ requestId }, { person, response }) {
      const decider = { person: personOf(person), channel: 'webhook' } as const;
      return await attester.provideInput(decider, { requestId }, { response });
    },
    completeJob: async (jobId, { person, result }) =>
      await client.jobs.complete(jobId, { result, person: personOf(person) }),
    failJob: async (jobId, { person, error }) =>
      await client.jobs.fail(jobId, { error, person: personOf(person) }),
    async sendMessage({ person, ...message }) {
      sent += 1;
      // Another attempt of this delivery sends the same.
      const messageId = message.messageId ?? `webhook-${name}-${shortDigest(id)}-${sent}`;
      const attested = await attester.attestMessage(personOf(person), { ...message, messageId });
      return await client.sendMessage(attested);
    },
  };
}
