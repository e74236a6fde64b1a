import { defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { DecisionReceipt, RequestName } from '../../src/contract/approvals.ts';
import { CONFIRM, EXPIRE_REQUEST, PROVIDE_CREDENTIAL, PROVIDE_INPUT } from '../../src/protocol/names.ts';
import type { Forwarding } from '../children/forwarding.ts';
import { isTestEnvironment } from '../test-environment.ts';
import {
  type CheckedDecision,
  checkedConfirm,
  checkedCredential,
  checkedExpiry,
  checkedInput,
} from './decision.ts';
import type { Requests } from './requests.ts';

const WHICH = 'requestId, callKey or callId unless it is the only one';

/**
 * The ways to answer requests, each as a signal, and as an update that answers with a receipt. Signals and updates need no order
 * of their own where they were there before their run: no request is pending or expected when a run begins, so neither decides one.
 */
export function handleDecisions(requests: Requests, forwarding: Forwarding): void {
  handle(CONFIRM, checkedConfirm, `approves or rejects a call that waits: { confirmed, reason? }; ${WHICH}`);
  handle(PROVIDE_INPUT, checkedInput, `answers the question of a call: { response }; ${WHICH}`);
  handle(
    PROVIDE_CREDENTIAL,
    checkedCredential,
    `names the stored credential that a call waits for, never the secret: { credentialRef }; ${WHICH}`,
  );

  if (isTestEnvironment()) {
    setHandler(
      defineUpdate<void, [RequestName | undefined]>(EXPIRE_REQUEST),
      async (given) => await requests.expireNow(checkedExpiry(given)),
      {
        validator: (given) => void requests.pendingRequest(checkedExpiry(given)),
        description: `for tests: ends a request now as if its time were over; ${WHICH}`,
      },
    );
  }

  /** A signal has no answer: a failure to forward it is noted for operators. */
  function forward(runKey: string, order: string, given: unknown, name: RequestName): void {
    void forwarding.decision(runKey, order, given, name).catch((error) => requests.refused(name, error));
  }

  function handle<Given>(
    name: string,
    checked: (given: Given) => CheckedDecision,
    description: string,
  ): void {
    setHandler(
      defineUpdate<DecisionReceipt, [Given]>(name),
      async (given) => {
        const decision = checked(given);
        const other = forwarding.askedBy(decision.name);
        if (other === undefined) return await requests.decide(decision);
        return await forwarding.decision(other, name, given, decision.name);
      },
      {
        validator: (given) => {
          const decision = checked(given);
          if (forwarding.askedBy(decision.name) === undefined) requests.check(decision);
          else forwarding.check(given);
        },
        description: `${description}; returns a receipt`,
      },
    );
    setHandler(
      defineSignal<[Given]>(name),
      (given) => {
        let decision: CheckedDecision;
        let other: string | undefined;
        try {
          decision = checked(given);
          other = forwarding.askedBy(decision.name);
        } catch (error) {
          requests.refused(nameIn(given), error);
          return;
        }
        if (other === undefined) requests.signalled(decision);
        else forward(other, name, given, decision.name);
      },
      { description },
    );
  }
}

/** The meaning of a malformed payload, as far as it can be read. */
function nameIn(given: unknown): RequestName {
  if (typeof given !== 'object' || given === null) return {};
  const fields = Object.entries(given).filter(
    ([field, value]) => ['requestId', 'callKey', 'callId'].includes(field) && typeof value === 'string',
  );
  return Object.fromEntries(fields);
}
