import type { ToolCallInput } from '../../src/protocol/step.ts';
import type { BegunCall } from '../../src/store/store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { contentText, toolSpan } from './spans.ts';
import type { Telemetry } from './telemetry.ts';
import type { TracedSpan } from './tracing.ts';
import type { CallFacts } from './turn-metrics.ts';

type StartedCall = Extract<BegunCall, { kind: 'started' }>;

/** Tells of one attempt of a tool. */
export class CallReport {
  readonly #telemetry: Telemetry;
  readonly #input: ToolCallInput;
  readonly #tool: BaseTool;
  readonly #begun: StartedCall;

  constructor(telemetry: Telemetry, input: ToolCallInput, tool: BaseTool, begun: StartedCall) {
    this.#telemetry = telemetry;
    this.#input = input;
    this.#tool = tool;
    this.#begun = begun;
  }

  /** Runs the tool within a span of its own. */
  async running<T>(args: unknown, run: () => Promise<T>): Promise<T> {
    const { metrics, tracing } = this.#telemetry;
    const began = performance.now();
    const attempt = async () => {
      try {
        return await run();
      } finally {
        metrics.callAttempted(this.#facts(), performance.now() - began);
      }
    };
    if (tracing === undefined) return await attempt();
    const span = this.#span();
    const contents = tracing.contents && this.#tool.durable.sensitive === false;
    if (contents) span.attributes['gen_ai.tool.call.arguments'] = contentText(args);
    return await tracing.within(this.#input, span, async (end) => {
      const result = await attempt();
      if (contents) end({ attributes: { 'gen_ai.tool.call.result': contentText(result) } });
      return result;
    });
  }

  /** Its agent has run from then until now. */
  ranAgent(began: number, error: { type: string } | undefined): void {
    const { callKey } = this.#input;
    const end = error === undefined ? {} : { error };
    this.#telemetry.tracing?.call(this.#input, this.#span(), { callKey, began }, end);
  }

  failed(code: string): void {
    this.#telemetry.metrics.callFailed(this.#facts(), code);
  }

  settled(failed: boolean): void {
    this.#telemetry.metrics.callSettled(this.#facts(), failed);
  }

  #span(): TracedSpan {
    const { callKey, callId, agent } = this.#input;
    const { names, invocationId, attempt } = this.#begun;
    return toolSpan({ agent, names, invocationId, tool: this.#tool.name, callKey, callId, attempt });
  }

  #facts(): CallFacts {
    return { app: this.#begun.names.app, agent: this.#input.agent, tool: this.#tool.name };
  }
}
