import { argumentsToRun } from '../../src/approvals/edited-arguments.ts';
import type { ApprovalRow, ApprovalTerms } from '../../src/contract/requests.ts';
import { ToolConfirmation } from '../../src/events/event-actions.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { isHeldRequest, requestIdOf } from '../../src/protocol/gate.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Asked } from '../../src/tools/call-questions.ts';
import { gateDigestOf } from '../../src/tools/tool-gate.ts';
import { digestOfArguments } from './request.ts';

/** A tool with more requests in one call would never stop to ask. */
const MOST_REQUESTS = 32;

/** A planned call, and the answers of people to its requests. */
export interface AskedCall {
  callKey: string;
  args: Record<string, unknown>;
  /** It was prepared when it was planned: a first request is the gate before it runs, those of its runs come after it. */
  prepared: boolean;
  requests: readonly ApprovalRow[];
}

/** The answers of people to the requests of a call by now. */
export class RecordedAnswers {
  readonly #call: AskedCall;

  /** Questions that an attempt has held open are left out: no run begins with their answers. */
  constructor(call: AskedCall) {
    this.#call = { ...call, requests: call.requests.filter(({ requestId }) => !isHeldRequest(requestId)) };
  }

  get #requests(): readonly ApprovalRow[] {
    return this.#call.requests;
  }

  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  get latest(): ApprovalRow | undefined {
    return this.#requests.at(-1);
  }

  /** A person has approved this run: the approval is good for one start. */
  get isApproved(): boolean {
    return this.latest?.kind === 'confirmation' && this.latest.status === 'approved';
  }

  /** The request that keeps the call from running at all. */
  get refusal(): ApprovalRow | undefined {
    const gate = this.#requests.find(({ requestId }) => this.#isGate(requestId));
    return gate === undefined || gate.status === 'approved' ? undefined : gate;
  }

  /** A question that ended without an answer. The call doesn't ask again, or it would never end. */
  get unanswered(): ApprovalRow | undefined {
    const { latest } = this;
    if (latest === undefined || latest.kind === 'confirmation' || latest.status === 'answered')
      return undefined;
    return latest;
  }

  /** A person has decided that the call must not run again: it may have run. */
  mustNotRepeat(tool: BaseTool): boolean {
    return this.latest !== undefined && isOfUnknown(this.latest, tool) && this.latest.status !== 'approved';
  }

  /** The arguments that run: those of the latest request, which callbacks have seen by then, or those that its approval has changed. */
  get args(): Record<string, unknown> {
    const { latest } = this;
    return latest === undefined ? this.#call.args : argumentsToRun(latest);
  }

  /** Its approval has changed the arguments since callbacks have seen them. */
  get isEdited(): boolean {
    return this.latest?.editedArgs !== undefined;
  }

  /** The confirmation of the tool's own questions, and of the gate before it. */
  confirmation(tool: BaseTool): ToolConfirmation | undefined {
    const asked = this.#requests.findLast(
      (request) => request.kind === 'confirmation' && !isOfUnknown(request, tool),
    );
    if (asked === undefined) return undefined;
    const { hint, status, payload, answerPayload = payload } = asked;
    return new ToolConfirmation({ hint, confirmed: status === 'approved', payload: answerPayload });
  }

  get inputs(): readonly unknown[] {
    return this.#requests
      .filter(({ kind, status }) => kind === 'input' && status === 'answered')
      .map(({ response }) => response);
  }

  /** Terms of the call's last decision. A later approval is no easier to get. */
  get terms(): ApprovalTerms | undefined {
    return this.#requests.findLast(({ kind }) => kind === 'confirmation')?.terms;
  }

  /** The newest answer for each credential key. */
  get credentialRefs(): ReadonlyMap<string, string> {
    const refs = new Map<string, string>();
    for (const { authConfig, credentialRef } of this.#requests) {
      if (authConfig !== undefined && credentialRef !== undefined) {
        refs.set(authConfig.credentialKey, credentialRef);
      }
    }
    return refs;
  }

  /** Number of the next request; undefined where there were too many. */
  get next(): number | undefined {
    const { latest } = this;
    const known = latest === undefined ? Number(this.#call.prepared) : numberOf(latest.requestId);
    return known < MOST_REQUESTS ? known + 1 : undefined;
  }

  /**
   * Whether the tool is another one than that whose call was approved: gated otherwise, with other parameters, or the approval is
   * not for what would run.
   */
  async hasChanged(tool: BaseTool): Promise<boolean> {
    const approved = this.#requests.filter(
      ({ kind, status }) => kind === 'confirmation' && status === 'approved',
    );
    if (approved.length === 0) return false;
    const digest = gateDigestOf(tool);
    const isBound = approved.every(
      (request) =>
        request.gateDigest === digest &&
        request.argsDigest === digestOfArguments(tool, request.args) &&
        (!this.#isGate(request.requestId) || isOf(request, this.#call.args)),
    );
    return !isBound || !(await takes(tool, this.args));
  }

  /** Whether the call was asked about when it was planned, by this tool's gate, and needn't be again. */
  hasPassed(tool: BaseTool): boolean {
    if (!this.#call.prepared) return false;
    // A tool that always asks would have asked then.
    if (tool.gate?.confirmation?.when === 'always')
      return this.#requests.some(({ requestId }) => this.#isGate(requestId));
    if (this.isEmpty || tool.gate?.confirmation === undefined) return true;
    const digest = gateDigestOf(tool);
    return this.#requests.every(({ gateDigest }) => gateDigest === digest);
  }

  #isGate(requestId: string): boolean {
    return this.#call.prepared && requestId === requestIdOf(this.#call.callKey, 1);
  }
}

/** Whether the arguments are those that were shown, or those that the approval has changed. */
function isOf({ args, editedArgs }: ApprovalRow, given: Record<string, unknown>): boolean {
  const json = canonicalJson(given);
  return json === canonicalJson(args) || (editedArgs !== undefined && json === canonicalJson(editedArgs));
}

function numberOf(requestId: string): number {
  return Number(requestId.slice(requestId.lastIndexOf('.') + 1));
}

/** Asks whether a call that may have run is to be run again. */
export function askOfUnknown(tool: BaseTool): Extract<Asked, { kind: 'confirmation' }> {
  return {
    kind: 'confirmation',
    hint: `An earlier attempt of ${tool.name} may have run. Run it again?`,
    payload: { outcome: 'unknown' },
  };
}

function isOfUnknown({ kind, hint, payload }: ApprovalRow, tool: BaseTool): boolean {
  const unknown = askOfUnknown(tool);
  return (
    kind === unknown.kind &&
    hint === unknown.hint &&
    canonicalJson(payload) === canonicalJson(unknown.payload)
  );
}

async function takes(tool: BaseTool, args: Record<string, unknown>): Promise<boolean> {
  try {
    await tool.checkArguments(args);
    return true;
  } catch {
    // The answer is ignored: the arguments were valid when the person was asked.
    return false;
  }
}
