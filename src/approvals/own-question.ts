import type { ApprovalRow } from '../contract/requests.ts';

/** ADK’s own hint of a tool without a hint: it is for programs. */
const NO_HINT =
  /^Please approve or reject the tool call .*\(\) by responding with a FunctionResponse with an expected ToolConfirmation payload\.$/s;

/** The tool's own question to people; empty without one. */
export function ownQuestion({ hint }: Pick<ApprovalRow, 'hint'>): string {
  return NO_HINT.test(hint) ? '' : hint;
}
