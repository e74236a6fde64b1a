/** A call of the turn that has its outcome. It is never run again: guards, counters and audits read it. */
export interface ToolCallRecord {
  /** Holdfast's name of the call, unique for ever. */
  callKey: string;
  /** Id on the wire; `''` for code that the model wrote. */
  callId: string;
  /** The tool's name. */
  name: string;
  /** Of the agent that called it. */
  agent: string;
  /** The model's. */
  args: Record<string, unknown>;
  /** What the model was told. */
  response: Record<string, unknown>;
  /** The response is an error. */
  failed: boolean;
  /** Of the model, from 1. */
  step: number;
}
