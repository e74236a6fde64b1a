import type {
  SingleAfterModelCallback,
  SingleAgentCallback,
  SingleBeforeModelCallback,
  SingleOnModelErrorCallback,
} from '../../src/agents/callbacks.ts';
import type { LlmAgentConfig } from '../../src/agents/llm-agent.ts';

/** The callbacks that a test wants its agents to have: set before a turn, and forgotten behind the test. */
export interface Callbacks {
  beforeAgent?: SingleAgentCallback;
  afterAgent?: SingleAgentCallback;
  beforeModel?: SingleBeforeModelCallback;
  afterModel?: SingleAfterModelCallback;
  onModelError?: SingleOnModelErrorCallback;
}

/** Of an agent whose callbacks are those that are set when they are asked. */
export function callingBack(
  callbacks: () => Callbacks,
): Pick<
  LlmAgentConfig,
  | 'beforeAgentCallback'
  | 'afterAgentCallback'
  | 'beforeModelCallback'
  | 'afterModelCallback'
  | 'onModelErrorCallback'
> {
  return {
    beforeAgentCallback: (context) => callbacks().beforeAgent?.(context),
    afterAgentCallback: (context) => callbacks().afterAgent?.(context),
    beforeModelCallback: (params) => callbacks().beforeModel?.(params),
    afterModelCallback: (params) => callbacks().afterModel?.(params),
    onModelErrorCallback: (params) => callbacks().onModelError?.(params),
  };
}
