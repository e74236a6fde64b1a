import type { RunningCall } from '../src/protocol/turn.ts';
import type { Mailbox } from './mailbox.ts';
import type { InvocationState } from './turn-state.ts';

/** How the turn looks to an operator: the Markdown of its current details. */
export function describeTurn(
  state: InvocationState | undefined,
  running: readonly RunningCall[],
  mailbox: Pick<Mailbox, 'waiting' | 'state'>,
): string {
  if (state === undefined) return 'waiting for a message';
  const lines = [`**${state.agent ?? 'agent'}**, step ${currentStep(state, running)}`];
  if (running.length > 0) {
    const tools = running.map(({ tool }) => `\`${tool}\``);
    lines.push(
      `running ${tools.slice(0, 8).join(', ')}${tools.length > 8 ? ` and ${tools.length - 8} more` : ''}`,
    );
  } else {
    lines.push('asking the model');
  }
  lines.push(`${state.usage.modelCalls} model calls, ${state.usage.totalTokens} tokens so far`);
  if (mailbox.waiting > 0) lines.push(`${mailbox.waiting} messages wait`);
  lines.push(...mailbox.state.notes);
  return lines.join('  \n');
}

/** The step whose calls run, else the one that the model is asked for. */
export function currentStep(state: InvocationState, running: readonly RunningCall[]): number {
  return running.length > 0 ? state.step : state.step + 1;
}
