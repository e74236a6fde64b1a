import { isLastRefusal } from './attempt.ts';

/**
 * During a rolling deploy a worker can get a task of an agent or tool that it doesn't have, or has no longer. Another
 * worker may have it, so the task is tried again for a minute.
 */
export class NotDeployedHere extends Error {
  readonly code = 'HOLDFAST_NOT_DEPLOYED_HERE' as string;
  readonly retryable: boolean = true;
  override readonly name: string = 'NotDeployedHere';

  constructor(kind: 'agent' | 'tool', missing: string, known: readonly string[]) {
    super(
      `this worker has no ${kind} ${JSON.stringify(missing.slice(0, 128))}, only ${known.join(', ') || 'none'}: ` +
        `deploy a worker that has it`,
    );
  }
}

/** Whether no worker has it, as far as anybody can know by now. */
export function isHadByNobody(error: unknown): error is NotDeployedHere {
  return error instanceof NotDeployedHere && (!error.retryable || isLastRefusal());
}
