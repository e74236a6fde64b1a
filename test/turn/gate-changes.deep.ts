import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { CredentialVault } from '../../src/credentials/credential-vault.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { idleWorkflow } from '../setup/idle-workflow.ts';
import { quickenRetries } from '../setup/quicken-retries.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const log: string[] = [];
const execute = () => {
  log.push('runs');
  return { paid: true };
};
const parameters = z.object({ amount: z.number() });
const approved = { name: 'pay', description: 'd', parameters, execute, requireConfirmation: true } as const;
const other = tool({ name: 'look', description: 'd', execute: () => ({}) });
const agentWith = (...tools: BaseTool[]) =>
  new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools });

/** What the worker has that is started next. */
const deployed: LlmAgent[] = [agentWith(tool(approved))];
const credentialKeys = `k1:${randomBytes(32).toString('base64')}`;
let environment: TurnEnvironment;
let vault: CredentialVault;
beforeAll(async () => {
  environment = await openTurnEnvironment({ agents: deployed, workerOptions: { credentialKeys } });
  vault = new CredentialVault(environment.store.credentials, parseCredentialKeys(credentialKeys));
});
afterAll(() => environment.close());

async function deploys(agent: LlmAgent): Promise<void> {
  deployed.splice(0, 1, agent);
  await environment.restartWorker();
}

async function asked(of: BaseTool): Promise<AskingTurn> {
  log.length = 0;
  await deploys(agentWith(of));
  environment.gemini.reset(stepCalls([[{ name: 'pay', args: { amount: 5 } }]]));
  const turn = await AskingTurn.start(environment);
  await turn.pending();
  return turn;
}

/** A call that waits for its approval, and what is deployed by the time that it comes. */
async function approvedAfter(change: LlmAgent): Promise<AskingTurn> {
  const turn = await asked(tool(approved));
  const [request] = await turn.pending();
  deployed.splice(0, 1, change);
  await idleWorkflow(turn.handle);
  await environment.stopWorker();
  await turn.signal({ requestId: request?.requestId ?? '', confirmed: true });
  await environment.restartWorker();
  return turn;
}

describe('a tool that has changed since its call was approved', () => {
  test.for<[string, BaseTool]>([
    ['takes less', tool({ ...approved, parameters: z.object({ amount: z.number().max(3) }) })],
    ['takes something else', tool({ ...approved, parameters: z.object({ euros: z.number() }) })],
    ['is gated by others', tool({ ...approved, approval: { approvers: ['Grace'] } })],
    ['is gated otherwise', tool({ ...approved, requireConfirmation: () => true })],
    ['has no gate any more', tool({ ...approved, requireConfirmation: false })],
  ])("isn't run: it %s [confirm.once]", async ([, changed]) => {
    const turn = await approvedAfter(agentWith(changed));
    expect(await turn.responses()).toEqual([{ error: 'tool changed since the approval' }]);
    expect(log).toEqual([]);
    expect((await turn.requests()).map(({ status }) => status)).toEqual(['approved']);
  });

  test("isn't run: it is gone [confirm.once]", async () => {
    const turn = await approvedAfter(agentWith(other));
    const result = turn.responses();
    const quickened = expect.poll(() =>
      quickenRetries(environment.temporal, turn.handle.workflowId, 'pay').then(() => true, String),
    );
    await quickened.toBe(true);
    expect(await result).toEqual([{ error: 'tool changed since the approval' }]);
    expect((await turn.requests()).map(({ status }) => status)).toEqual(['approved']);
  });

  test.for([
    ['flag', true],
    ['predicate', () => true],
  ] as const)(
    "isn't run without one: it has got a %s since [confirm.once]",
    async ([credentialKey, gate]) => {
      const { requireConfirmation: _gate, ...ungated } = approved;
      const authScheme = { type: 'apiKey', in: 'header', name: 'x-key' };
      const before = tool({ ...ungated, authConfig: { credentialKey, authScheme } });
      const turn = await asked(before);
      await deploys(agentWith(tool({ ...approved, requireConfirmation: gate })));
      const credential = { authType: 'apiKey', apiKey: 'k' } as const;
      const given = await vault.put({ app: 'test', userId: 'ada', credentialKey, credential });
      await turn.credential(given.credentialRef);
      await expect.poll(async () => (await turn.pending()).map(({ kind }) => kind)).toEqual(['confirmation']);
      expect(log).toEqual([]);
      await turn.confirm({ confirmed: true });
      expect(await turn.responses()).toEqual([{ paid: true }]);
      expect(log).toEqual(['runs']);
    },
  );

  test('runs where only its words are others [confirm.once]', async () => {
    const turn = await approvedAfter(agentWith(tool({ ...approved, description: 'another one' })));
    expect(await turn.responses()).toEqual([{ paid: true }]);
    expect(log).toEqual(['runs']);
  });
});
