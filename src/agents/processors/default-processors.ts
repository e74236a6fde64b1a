import type { BaseLlmRequestProcessor } from './base-llm-processor.ts';
import { BASIC_LLM_REQUEST_PROCESSOR } from './basic-processor.ts';
import { CODE_EXECUTION_REQUEST_PROCESSOR } from './code-execution-processor.ts';
import { CONTENT_REQUEST_PROCESSOR } from './content-processor.ts';
import { IDENTITY_LLM_REQUEST_PROCESSOR } from './identity-processor.ts';
import { INSTRUCTIONS_LLM_REQUEST_PROCESSOR } from './instructions-processor.ts';
import { PLANNING_REQUEST_PROCESSOR } from './planning-processor.ts';
import { TOOL_FILTER_REQUEST_PROCESSOR } from './tool-filter-processor.ts';

/**
 * What builds the request of an agent that names no `requestProcessors`, in the order of `@google/adk` 2.0.0; planning, which
 * that doesn't have, stands where adk-python has it.
 *
 * @example requestProcessors: [...DEFAULT_REQUEST_PROCESSORS, new Redactor()]
 */
export const DEFAULT_REQUEST_PROCESSORS: readonly BaseLlmRequestProcessor[] = Object.freeze([
  BASIC_LLM_REQUEST_PROCESSOR,
  IDENTITY_LLM_REQUEST_PROCESSOR,
  INSTRUCTIONS_LLM_REQUEST_PROCESSOR,
  CONTENT_REQUEST_PROCESSOR,
  PLANNING_REQUEST_PROCESSOR,
  CODE_EXECUTION_REQUEST_PROCESSOR,
  TOOL_FILTER_REQUEST_PROCESSOR,
]);
