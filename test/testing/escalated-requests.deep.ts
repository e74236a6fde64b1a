import { expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { createApproverKey } from '../../src/approvals/approver-key.ts';
import { signDecision } from '../../src/approvals/decision-attestation.ts';
import { call, createTestEnvironment, text } from '../../src/testing/index.ts';
import { tool } from '../../src/tools/function-tool.ts';

test('those who are asked next may decide once a test lets the time run out [approval.expiry] [approval.proven]', async () => {
  const { key, issuer } = await createApproverKey('zoe');
  let ran = 0;
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    requireConfirmation: true,
    approval: { approvers: ['mira'], expiresIn: '2 days', onExpiry: 'escalate', escalateTo: ['zoe'] },
    execute: () => {
      ran += 1;
      return { paid: true };
    },
  });
  const rootAgent = new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [pay] });
  const env = await createTestEnvironment({
    apps: [new App({ name: 'test', rootAgent, durable: { approval: { issuers: [issuer] } } })],
    script: [call('pay', {}), text('done')],
  });
  try {
    const turn = await env.send({ message: 'pay' });
    const [request] = await env.waiting(turn);
    if (request === undefined) throw new Error('nobody was asked');
    const { session, requestId, argsDigest } = request;
    const approve = async () => {
      const claims = { issuer: key.issuer, approver: 'zoe', session, requestId, argsDigest, channel: 'test' };
      const attestation = await signDecision({ ...claims, decision: 'approve' }, key.privateKey);
      return await env.approve(requestId, { attestation, timeout: 60_000 });
    };
    await expect(approve()).rejects.toThrow(/may not decide the request/);
    await env.expire(requestId);
    expect(await approve()).toMatchObject({ status: 'approved' });
    await turn.result();
    expect(ran).toBe(1);
  } finally {
    await env.close();
  }
});
