import { defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { DecisionReceipt, RequestName } from '../src/protocol/gate.ts';
import { CONFIRM, EXPIRE_REQUEST, PROVIDE_CREDENTIAL, PROVIDE_INPUT } from '../src/protocol/names.ts';
import { checkedConfirm, checkedCredential, checkedInput, type Decision } from './decision-arguments.ts';
import type { Requests } from './requests.ts';

const WHICH = 'requestId, callKey or callId unless it is the only one';

/** The ways to answer requests, each as a signal, and as an update that answers what became of it. */
export function handleDecisions(requests: Requests): void {
  handle(CONFIRM, checkedConfirm, `approves or rejects a call that waits: { confirmed, reason? }; ${WHICH}`);
  handle(PROVIDE_INPUT, checkedInput, `gives what a call waits for: { response }; ${WHICH}`);
  handle(
    PROVIDE_CREDENTIAL,
    checkedCredential,
    `names the stored credential that a call waits for, never the secret: { credentialRef }; ${WHICH}`,
  );

  setHandler(
    defineUpdate<void, [RequestName]>(EXPIRE_REQUEST),
    async (given) => await requests.expireNow(nameIn(given)),
    {
      validator: (given) => void requests.pendingRequest(nameIn(given)),
      description: 'for tests: what becomes of a request when its time is over, now',
    },
  );

  function handle<Given>(name: string, checked: (given: Given) => Decision, description: string): void {
    setHandler(
      defineUpdate<DecisionReceipt, [Given]>(name),
      async (given) => await requests.decide(checked(given)),
      {
        validator: (given) => requests.check(checked(given)),
        description: `${description}; answers what became of it`,
      },
    );
    setHandler(
      defineSignal<[Given]>(name),
      (given) => {
        let decision: Decision;
        try {
          decision = checked(given);
        } catch (error) {
          requests.refused(nameIn(given), error);
          return;
        }
        requests.signalled(decision);
      },
      { description },
    );
  }
}

/** What a malformed payload means, as far as it says so. */
function nameIn(given: unknown): RequestName {
  if (typeof given !== 'object' || given === null) return {};
  const fields = Object.entries(given).filter(
    ([field, value]) => ['requestId', 'callKey', 'callId'].includes(field) && typeof value === 'string',
  );
  return Object.fromEntries(fields);
}
