import { carry } from '../../src/flows/size-rule.ts';
import type { ToolCallResult } from '../../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import type { SettledCall } from '../../src/store/store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';

/**
 * What the history shows of a settled call.
 *
 * @param answersError the response is what callbacks made of an error.
 */
export function callResult(
  callKey: string,
  tool: BaseTool | undefined,
  { response, failed, actions, first = false }: Omit<SettledCall, 'first'> & Partial<SettledCall>,
  answersError = true,
): Extract<ToolCallResult, { response: unknown }> {
  // Where the tool isn't known, neither is what it keeps to itself: only what was said here can be told.
  const { sensitive } = tool?.durable ?? { sensitive: !first };
  // An error's text may quote any argument, and so may an answer to it. What another attempt has settled may be one.
  const mayQuote = failed || answersError || !first;
  const hidden =
    typeof sensitive === 'boolean'
      ? sensitive
      : (mayQuote && sensitive.length > 0) || sensitive.includes('result');
  return {
    v: PROTOCOL_VERSION,
    response: carry(callKey, response, hidden),
    ...(failed ? { failed: true } : {}),
    ...(actions.skipSummarization ? { skipSummarization: true } : {}),
    ...(actions.transferToAgent ? { transferToAgent: actions.transferToAgent } : {}),
    ...(actions.escalate ? { escalate: true } : {}),
  };
}
