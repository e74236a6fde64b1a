import { formatDuration } from '../../schema/duration.ts';
import type { BaseTool } from '../../tools/base-tool.ts';
import { durableDefaults } from '../../tools/durable-options.ts';
import type { ToolGate } from '../../tools/gate-options.ts';
import { DEFAULT_JOB_DEADLINE } from '../../tools/job-options.ts';

/** Options of a tool that differ from the defaults, in words: waits of its calls, how they run, and care of their jobs. */
export function toolOptions(tool: BaseTool): string[] {
  return [...gateOptions(tool.gate), ...runOptions(tool), ...jobOptions(tool)];
}

/** People and credentials that calls wait for. */
export function gateOptions(gate: ToolGate | undefined): string[] {
  if (gate === undefined) return [];
  const { confirmation, approval, credential } = gate;
  const { approvers, quorum, expiresIn, onExpiry, escalateAfter, escalateTo, allowEdit, notRequester } =
    approval;
  const asks = confirmation?.by === 'flag' ? 'waits for approval' : 'may wait for approval';
  return [
    ...(confirmation === undefined ? [] : [asks]),
    ...(approvers === undefined ? [] : [`approvers: ${approvers.join(', ')}`]),
    ...(quorum === undefined ? [] : [`${quorum} approvals`]),
    ...(notRequester ? ['not by who asks'] : []),
    ...(allowEdit ? ['arguments may be edited'] : []),
    ...(expiresIn === undefined ? [] : [`expires after ${formatDuration(expiresIn)}`]),
    ...(onExpiry === undefined ? [] : [`on expiry: ${onExpiry}`]),
    ...(escalateAfter === undefined ? [] : [`escalates after ${formatDuration(escalateAfter)}`]),
    ...(escalateTo === undefined ? [] : [`escalates to ${escalateTo.join(', ')}`]),
    ...(credential === undefined ? [] : [`credential: ${credential.authConfig.credentialKey}`]),
  ];
}

function runOptions({ durable, isReadOnly, gate, job }: BaseTool): string[] {
  const { retry, idempotent, onUnknownOutcome, isConcurrencySafe, execution, sensitive } = durable;
  const isApproved = gate?.confirmation !== undefined;
  const defaults = durableDefaults({ execution, idempotent, isApproved });
  return [
    ...(execution === 'activity' ? [] : [execution]),
    ...(isReadOnly ? ['reads only'] : []),
    ...(job.inProcess ? [] : timeoutOptions(durable, defaults)),
    ...(durable.heartbeatTimeout === defaults.heartbeatTimeout
      ? []
      : [`heartbeat within ${formatDuration(durable.heartbeatTimeout)}`]),
    ...(retry.maximumAttempts === defaults.maximumAttempts ? [] : [attemptsText(retry.maximumAttempts)]),
    ...(idempotent ? [] : ['not idempotent']),
    ...(onUnknownOutcome === defaults.onUnknownOutcome ? [] : [`unknown outcome: ${onUnknownOutcome}`]),
    ...(isConcurrencySafe ? [] : ['runs alone']),
    ...(durable.needsTranscript ? ['reads the transcript'] : []),
    ...sensitiveOption(sensitive),
  ];
}

type Timeouts = Pick<BaseTool['durable'], 'timeout' | 'totalTimeout'>;

function timeoutOptions({ timeout, totalTimeout }: Timeouts, defaults: Timeouts): string[] {
  const usual = Math.min(totalTimeout, defaults.timeout);
  return [
    ...(timeout === usual ? [] : [formatDuration(timeout)]),
    ...(totalTimeout === defaults.totalTimeout ? [] : [`${formatDuration(totalTimeout)} in all`]),
  ];
}

function jobOptions({ isLongRunning, job }: BaseTool): string[] {
  const { deadline, poll, pollInterval, startTimeout, silenceTimeout, pauseOnReturn, inProcess } = job;
  return [
    ...(inProcess ? ['job in its own run'] : isLongRunning ? ['job'] : []),
    ...(deadline === DEFAULT_JOB_DEADLINE ? [] : [`deadline ${formatDuration(deadline)}`]),
    ...(poll === undefined ? [] : [`polled every ${formatDuration(pollInterval)}`]),
    ...(startTimeout === undefined ? [] : [`starts within ${formatDuration(startTimeout)}`]),
    ...(silenceTimeout === undefined ? [] : [`heard of within ${formatDuration(silenceTimeout)}`]),
    ...(pauseOnReturn ? ['the turn waits for its outcome'] : []),
  ];
}

function sensitiveOption(sensitive: boolean | readonly string[]): string[] {
  if (typeof sensitive === 'boolean') return sensitive ? ['sensitive'] : [];
  return sensitive.length === 0 ? [] : [`sensitive: ${sensitive.join(', ')}`];
}

export function attemptsText(count: number): string {
  return count === 1 ? '1 attempt' : `${count} attempts`;
}
