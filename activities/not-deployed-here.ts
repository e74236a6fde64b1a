/**
 * During a rolling deploy a worker can get a task of an agent or tool that it doesn't have, or has no longer. Another
 * worker may have it, so the task is tried again for a minute.
 */
export class NotDeployedHere extends Error {
  readonly code = 'HOLDFAST_NOT_DEPLOYED_HERE';
  override readonly name = 'NotDeployedHere';

  constructor(kind: 'agent' | 'tool', missing: string, known: readonly string[]) {
    super(
      `this worker has no ${kind} ${JSON.stringify(missing.slice(0, 128))}, only ${known.join(', ') || 'none'}: ` +
        `deploy a worker that has it`,
    );
  }
}
