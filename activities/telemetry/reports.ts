import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { isAnySensitive } from '../../src/approvals/sensitive.ts';
import type { AskedStep, StepResponse } from '../../src/flows/step-draft.ts';
import type { Transcript } from '../../src/flows/transcript.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import type { CallModelInput, SettleStepInput, ToolCallInput } from '../../src/protocol/step.ts';
import type { InvocationOutcome } from '../../src/protocol/turn.ts';
import type { BegunCall } from '../../src/store/turns/call-store.ts';
import type { OpenedStep } from '../../src/store/turns/step-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { type AgentFacts, answeredChat, chatSpan, contentText, toolSpan, turnSpan } from './spans.ts';
import type { SpanEnd, TracedSpan, Tracing } from './tracing.ts';
import type { CallFacts, TurnMetrics } from './turn-metrics.ts';

type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

export class StepReport {
  readonly #telemetry: Telemetry;
  readonly #input: CallModelInput;
  /** When the turn began, milliseconds since the epoch. */
  #turnBegan = Date.now();

  constructor(telemetry: Telemetry, input: CallModelInput) {
    this.#telemetry = telemetry;
    this.#input = input;
  }

  /** Called before a step's work begins. */
  opened({ age }: OpenStep): void {
    // A run below a root has the root's age: the root's time limit counts.
    this.#turnBegan = this.#input.tracedBelow?.at ?? Date.now() - age;
  }

  /** Asks the model within a span of its own. */
  async asking(
    agent: LlmAgent,
    opened: OpenStep,
    { last }: Transcript,
    ask: () => Promise<LlmResponse>,
  ): Promise<LlmResponse> {
    const { metrics, tracing } = this.#telemetry;
    const { step } = this.#input;
    const { model } = agent.canonicalModel;
    const { app } = opened.names;
    const began = performance.now();
    const answer = async () => {
      const response = await ask();
      metrics.modelAnswered({ app, agent: agent.name, model }, performance.now() - began);
      return response;
    };
    if (tracing === undefined) return await answer();
    const span = chatSpan({ ...this.#facts(agent.name, opened), model, step, attempt: opened.attempt });
    const contents = tracing.contents && !agent.durable.sensitive;
    if (contents && last?.event.content) {
      span.attributes['gen_ai.input.messages'] = contentText([last.event.content]);
    }
    return await tracing.within(this.#turn(), span, async (end) => {
      const response = await answer();
      const told: SpanEnd = answeredChat(response);
      if (contents && response.content) {
        told.attributes = {
          ...told.attributes,
          'gen_ai.output.messages': contentText([response.content]),
        };
      }
      end(told);
      return response;
    });
  }

  failed({ names }: OpenStep, { agent, model }: AskedStep, code: string): void {
    this.#telemetry.metrics.modelFailed({ app: names.app, agent, model }, code);
  }

  /** Called when a step is recorded; it may be the end of its turn. */
  recorded(opened: OpenStep, { agent, outcome, usage, ending }: StepResponse): void {
    const { metrics, tracing } = this.#telemetry;
    const { app } = opened.names;
    const { step, cameAt } = this.#input;
    metrics.stepRecorded({ app, agent, model: outcome.model ?? '', outcome: outcome.kind }, usage);
    if (step === 1 && cameAt !== undefined) {
      metrics.turnBegan({ app }, this.#turnBegan - cameAt);
    }
    if (ending === undefined) return;
    metrics.runEnded({ app, agent, isChild: this.#isChild }, ending, Date.now() - this.#turnBegan);
    if (tracing === undefined) return;
    const { name, end } = turnSpan(this.#facts(agent, opened), ending);
    tracing.turn(this.#turn(), name, this.#turnBegan, end);
  }

  /** A turn that ends with nothing of it in the store. It has no span: its id may be that of another turn. */
  refused(outcome: InvocationOutcome): void {
    const { identity, agent = '' } = this.#input;
    if (identity === undefined) return;
    this.#telemetry.metrics.runEnded({ app: identity.app, agent, isChild: this.#isChild }, outcome, 0);
  }

  get #isChild(): boolean {
    return this.#input.rootWorkflowId !== undefined;
  }

  #facts(agent: string, { names }: OpenStep): AgentFacts {
    return { agent, names, invocationId: this.#input.invocationId };
  }

  #turn() {
    const { runKey, traceparent, tracedBelow } = this.#input;
    return { runKey, traceparent, tracedBelow };
  }
}

type StartedCall = Extract<BegunCall, { kind: 'started' }>;

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
    const contents = tracing.contents && !isAnySensitive(this.#tool.durable.sensitive);
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
    this.#telemetry.metrics.callFinished(this.#facts(), failed);
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

/** Tells of a turn that ends without another model call. */
export function reportEnd(
  { metrics, tracing }: Telemetry,
  { ended, agent, invocationId, runKey, traceparent, tracedBelow, rootWorkflowId }: SettleStepInput,
  outcome: InvocationOutcome | undefined,
): void {
  if (ended === undefined || outcome === undefined) return;
  const { app, beganAt = Date.now() } = ended;
  metrics.runEnded({ app, agent, isChild: rootWorkflowId !== undefined }, outcome, Date.now() - beganAt);
  if (tracing === undefined) return;
  const { name, end } = turnSpan({ agent, invocationId, names: ended }, outcome);
  tracing.turn({ runKey, traceparent, tracedBelow }, name, beganAt, end);
}

/** Metrics and traces of turns. */
export interface Telemetry {
  readonly metrics: TurnMetrics;
  readonly tracing: Tracing | undefined;
}
