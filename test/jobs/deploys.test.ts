import { randomUUID } from 'node:crypto';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import { type MockGemini, startMockGemini } from '../../src/testing/mock-gemini.ts';
import { LongRunningFunctionTool } from '../../src/tools/function-tool.ts';
import type { ToolOptions } from '../../src/tools/tool-types.ts';
import { DeploySite } from '../setup/deploy-site.ts';
import { jobOf, responsesOf } from '../setup/job-turns.ts';
import { quickenRetries } from '../setup/quicken-retries.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';

const site = new DeploySite();
let gemini: MockGemini;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  gemini = await startMockGemini({ script: [] });
  Object.assign(process.env, gemini.env);
  await site.open();
});
afterAll(async () => {
  await site.close();
  await gemini.close();
});
beforeEach(async () => {
  await site.undeploy();
  gemini.reset(stepCalls([[{ name: 'ship' }]]));
});

type Options = Partial<Omit<ToolOptions<undefined, z.ZodType, true>, 'name' | 'description' | 'parameters'>>;

/** Another release of an agent, whose tool does this. */
function release(options?: Options): LlmAgent {
  const ship = (execute: () => unknown) =>
    new LongRunningFunctionTool({ description: 'd', ...options, name: 'ship', execute });
  const tools = options === undefined ? [] : [ship(options.execute as () => unknown)];
  return new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools });
}

async function ordered() {
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const turn = await site.client.sendMessage({ ...names, message: 'go' });
  return { names, turn };
}

const fails = () => {
  throw new Error('the tool has handed out its job');
};

test('a job outlives the release that began it: its next one polls [job.poll] [upgrade.changedTool]', async () => {
  await site.deploy(release({ execute: () => undefined, poll: () => undefined, pollInterval: '1 second' }));
  const { names, turn } = await ordered();
  await jobOf(site, names, 'parked');
  await site.undeploy();
  await site.deploy(release({ execute: fails, poll: () => ({ parts: 3 }), pollInterval: '1 second' }));
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
  expect(await responsesOf(site, names)).toMatchObject([{ response: { parts: 3 } }]);
});

if (isDeep) {
  test('an outcome is checked by the schema of the release that is up when it comes [job.park] [upgrade.changedTool]', async () => {
    await site.deploy(release({ execute: () => undefined }));
    const { names, turn } = await ordered();
    const { jobId } = await jobOf(site, names, 'parked');
    await site.undeploy();
    await site.deploy(release({ execute: fails, outputSchema: z.object({ pieces: z.number() }) }));
    await site.client.jobs.complete(jobId, { result: { parts: 3 } });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(await responsesOf(site, names)).toMatchObject([
      { response: { error: expect.stringContaining('pieces') } },
    ]);
  });
}

if (isDeep) {
  test('an outcome counts where no release has the tool any more [job.park] [upgrade.notDeployed]', async () => {
    await site.deploy(release({ execute: () => undefined }));
    const { names, turn } = await ordered();
    const { jobId } = await jobOf(site, names, 'parked');
    await site.undeploy();
    await site.client.jobs.complete(jobId, { result: { parts: 3 } });
    await site.deploy(release());
    await expect
      .poll(async () => {
        // The activity behind the wait is tried as often as a call whose tool nobody has; before it is scheduled there is none.
        await quickenRetries(site.temporal, turn.workflowId, 'ship').catch(() => undefined);
        return (await site.temporal.workflow.getHandle(turn.workflowId).describe()).status.name;
      })
      .toBe('COMPLETED');
    expect(await responsesOf(site, names)).toMatchObject([{ response: { parts: 3 } }]);
  });
}

if (isDeep) {
  test('a job that goes on without its turn outlives the release that began it [job.detach] [upgrade.changedTool]', async () => {
    await site.deploy(release({ execute: () => ({ status: 'ordered' }) }));
    const { names, turn } = await ordered();
    await turn.result();
    const { jobId, callKey } = await jobOf(site, names, 'detached');
    await site.undeploy();
    await site.client.jobs.complete(jobId, { result: { parts: 3 } });
    const workflowId = jobWorkflowIdOf(turn.workflowId, callKey);
    await site.deploy(release());
    await expect
      .poll(async () => {
        await quickenRetries(site.temporal, workflowId, 'ship').catch(() => undefined);
        return (await responsesOf(site, names)).length;
      })
      .toBe(2);
    expect((await responsesOf(site, names)).at(-1)).toMatchObject({ response: { parts: 3 } });
  });
}
