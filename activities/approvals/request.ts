import type { BaseAgent } from '../../src/agents/base-agent.ts';
import type { AppSettings } from '../../src/app/app-settings.ts';
import { isResultSensitive, shownArguments } from '../../src/approvals/sensitive.ts';
import type { ApprovalTerms } from '../../src/contract/requests.ts';
import { shownGate } from '../../src/flows/plan-calls.ts';
import { sensitiveIn } from '../../src/plugins/withheld.ts';
import type { ActingAgent } from '../../src/protocol/agent-run.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { type Gate, requestIdOf } from '../../src/protocol/gate.ts';
import { defined } from '../../src/protocol/json.ts';
import type { StepOutcome } from '../../src/protocol/step.ts';
import type { NewRequest } from '../../src/store/approvals/approval-store.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import type { Store } from '../../src/store/store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Asked } from '../../src/tools/call-questions.ts';
import { approvalTermsOf, defaultHint, gateDigestOf } from '../../src/tools/tool-gate.ts';

interface AskingCall {
  /** Where its agent stands in the tree of the turn. */
  acting: Pick<ActingAgent, 'path' | 'rootWorkflowId'>;
  callKey: string;
  callId: string;
  agent: BaseAgent;
  tool: BaseTool;
  /** Those that run once the person has answered. */
  args: Record<string, unknown>;
  workflowId: string;
  /** Those that the call was decided on before; the tool's, where it hasn't asked yet. */
  terms?: ApprovalTerms | undefined;
}

/** @param n from 1 within the call. */
export function newRequest(call: AskingCall, n: number, asked: Asked): NewRequest {
  const { callKey, callId, agent, tool, workflowId, acting } = call;
  // The arguments that the store gives back are shown, attested and run.
  const args = asStored(call.args);
  return {
    requestId: requestIdOf(callKey, n),
    callKey,
    callId,
    kind: asked.kind,
    tool: tool.name,
    agent: agent.name,
    path: pathOf(agent, acting.path),
    workflowId,
    rootWorkflowId: acting.rootWorkflowId ?? workflowId,
    ...questionOf(tool, asked),
    args,
    argsDigest: digestOfArguments(tool, args),
    gateDigest: gateDigestOf(tool),
    sensitive: sensitiveIn(tool, args),
    terms: termsFor(call, asked),
  };
}

/**
 * Digest of the arguments as people see them. It goes into attestations, and so into the history; there somebody could guess a
 * short secret from its digest by trying.
 */
export function digestOfArguments(tool: BaseTool, args: Record<string, unknown>): string {
  return digestOf(shownArguments(args, sensitiveIn(tool, args)));
}

/** The facts of a request that the workflow needs. */
export function gateOf(
  { requestId, kind, hint, terms, sensitive: ofCall }: NewRequest,
  tool: BaseTool,
  { approval, notifiers }: Pick<AppSettings, 'approval' | 'notifiers'>,
): Gate {
  const { approvers, quorum = 1, notRequester, allowEdit, expiresIn, onExpiry, escalateAfter } = terms;
  const { sensitive } = tool.durable;
  const isRuled = approvers !== undefined || quorum > 1 || notRequester === true;
  return shownGate(
    {
      requestId,
      kind,
      hint,
      ...(isRuled && approval?.trustTemporal !== true ? { attested: true } : {}),
      ...(quorum === 1 ? {} : { quorum }),
      ...(allowEdit ? { allowEdit } : {}),
      ...(allowEdit && Array.isArray(sensitive) && sensitive.length > 0 ? { fixed: sensitive } : {}),
      ...(kind === 'input' && isResultSensitive(ofCall) ? { concealed: true } : {}),
      ...defined({ expiresIn, onExpiry, escalateAfter }),
      ...(notifiers.length === 0 ? {} : { notifies: true }),
      ...(notifiers.some(({ ended }) => ended !== undefined) ? { notifiesEnd: true } : {}),
    },
    tool,
  );
}

function questionOf(
  tool: BaseTool,
  asked: Asked,
): Pick<NewRequest, 'hint' | 'payload' | 'responseSchema' | 'authConfig'> {
  if (asked.kind === 'credential') {
    const { authConfig } = asked;
    return { hint: `The tool ${tool.name} needs the credential ${authConfig.credentialKey}.`, authConfig };
  }
  const payload = asked.payload === undefined ? {} : { payload: asked.payload };
  if (asked.kind === 'confirmation') return { hint: asked.hint || defaultHint(tool.name), ...payload };
  const { message, responseSchema } = asked;
  return { hint: message, ...payload, ...defined({ responseSchema }) };
}

/** Approvers do not restrict the answers to a question: only its expiry comes from the same terms. */
function termsFor({ tool, terms = approvalTermsOf(tool) }: AskingCall, asked: Asked): ApprovalTerms {
  if (asked.kind === 'confirmation') return asked.terms ?? terms;
  const { expiresIn } = terms;
  return defined({ expiresIn });
}

/** @param run of the run that it acts in: from the turn's root, also through the tools whose agents it is below. */
function pathOf(agent: BaseAgent, run: readonly string[] = []): string[] {
  const path: string[] = [];
  for (let each: BaseAgent | undefined = agent; each !== undefined; each = each.parentAgent) {
    path.unshift(each.name);
  }
  return [...run.slice(0, Math.max(run.lastIndexOf(path[0] ?? ''), 0)), ...path];
}

/**
 * A recorded step for a workflow that wasn't there when people answered: the one before was terminated, or reset. Those who have
 * answered, or approved as one of several, are not asked again.
 */
export async function withEndedGates(store: Store, outcome: StepOutcome): Promise<StepOutcome> {
  if (outcome.kind !== 'calls') return outcome;
  const { session } = outcome;
  const calls = await Promise.all(
    outcome.calls.map(async (call) =>
      call.gate === undefined ? call : { ...call, gate: await knownGate(store, session, call.gate) },
    ),
  );
  return { ...outcome, calls };
}

/** A request that may have been made, and answered, before. */
export async function knownGate(store: Store, session: string, gate: Gate): Promise<Gate> {
  const { status = 'pending', votes = [] } =
    (await store.approvals.findRequest(session, gate.requestId)) ?? {};
  if (status !== 'pending') return { ...gate, ended: status };
  const known = votes.flatMap(({ by: { principal, verified }, confirmed, of }) =>
    confirmed && of !== undefined ? [{ by: { principal, verified }, of }] : [],
  );
  return known.length === 0 ? gate : { ...gate, votes: known };
}
