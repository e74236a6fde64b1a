import { createTestEnvironment, type TestEnvironment } from '../../src/testing/index.ts';
import { holdVariables } from '../../src/testing/open-test-environment.ts';
import type { TestEnvironmentOptions } from '../../src/testing/test-environment.ts';
import { ownNamespace } from './own-namespace.ts';

/** A test environment in a namespace of the test file's Temporal server, which it finds as that of users who have one. */
export async function openPlacedEnvironment(options: TestEnvironmentOptions): Promise<TestEnvironment> {
  const { address, namespace } = await ownNamespace();
  const letGo = holdVariables({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
  try {
    return await createTestEnvironment(options);
  } finally {
    letGo();
  }
}
