import type { TestEnvironment, TestEnvironmentOptions } from './test-environment.ts';

/**
 * Starts everything that an agent runs on. The first call on a machine takes longer: it fetches the Temporal server and
 * initialises a store, and keeps both in the cache folder (`HOLDFAST_CACHE`).
 *
 * @throws DefinitionError naming the wrong option; what `openTemporal` and `openStore` throw.
 * @example
 * await using env = await createTestEnvironment({ agents: [rootAgent], script: [call('look_up', { id: 'A-1' }), text('Shipped.')] });
 * const turn = await env.run('Where is A-1?');
 * assert.equal(turn.text, 'Shipped.');
 * assert.deepEqual(turn.calls[0]?.args, { id: 'A-1' });
 */
export async function createTestEnvironment(options: TestEnvironmentOptions): Promise<TestEnvironment> {
  // Programs without a worker use only the mock Gemini server.
  const { openTestEnvironment } = await import('./open-test-environment.ts');
  return await openTestEnvironment(options);
}
