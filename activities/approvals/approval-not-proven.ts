/** A call is said to be approved, and what the store has doesn't prove it. Nothing has run, and nothing was written. */
export class ApprovalNotProven extends Error {
  readonly code = 'HOLDFAST_APPROVAL_NOT_PROVEN';
  readonly retryable = false;
  override readonly name = 'ApprovalNotProven';

  constructor(problem: string) {
    super(`the approval of this call is not proven: ${problem}`);
    // It says nothing about the tool.
    this.stack = '';
  }
}
