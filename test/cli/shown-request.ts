import type { ApprovalRow } from '../../src/contract/requests.ts';

/** A pending request of a refund, as the store tells it. */
export function requestRow(given: Partial<ApprovalRow> = {}): ApprovalRow {
  return {
    requestId: 'rq-e-abc.1.0.1',
    callKey: 'e-abc.1.0',
    callId: 'adk-1',
    kind: 'confirmation',
    tool: 'refund',
    agent: 'billing',
    path: ['desk', 'billing'],
    workflowId: 'shop/ada/s1',
    rootWorkflowId: 'shop/ada/s1',
    hint: 'Refund 102 EUR?',
    args: { order: 'A-1', amount: 102 },
    argsDigest: '',
    gateDigest: '',
    sensitive: false,
    terms: {},
    app: 'shop',
    userId: 'ada',
    sessionId: 's1',
    session: 'internal',
    runKey: 'e-abc',
    invocationId: 'e-abc',
    status: 'pending',
    since: Date.now() - 60_000,
    votes: [],
    history: [],
    ...given,
  };
}
