import type { CallModelInput } from '../../src/protocol/step.ts';

/** A step says that it is another turn's than its own message has begun. Nothing was written in its name. */
export class MisplacedStep extends Error {
  readonly code = 'HOLDFAST_MISPLACED_STEP';
  readonly retryable = false;
  override readonly name = 'MisplacedStep';

  constructor(problem: string) {
    super(`the step is none of its turn: ${problem}`);
    // It says nothing about the agent.
    this.stack = '';
  }
}

/**
 * What no workflow of ours sends: with it a message or a call that somebody has made up would stand in a turn that another person has
 * asked for.
 *
 * @throws MisplacedStep
 */
export function checkPlace(input: CallModelInput): void {
  const { identity, call, invocationId, runKey, step, ownCall, message, messageDigest } = input;
  if (identity === undefined && (message !== undefined || messageDigest !== undefined)) {
    throw new MisplacedStep('it has a message and no identity');
  }
  if (identity !== undefined && runKey !== invocationId) {
    throw new MisplacedStep('it begins a turn under the run key of another one');
  }
  if (call !== undefined && identity?.sessionId !== runKey) {
    throw new MisplacedStep('a call begins its agent in the session of another run');
  }
  if (ownCall !== undefined && (step !== 1 || identity === undefined)) {
    throw new MisplacedStep('a call of a workflow is the first step of a turn of its own');
  }
}
