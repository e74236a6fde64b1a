import type { RunningChild } from '../protocol/agent-run.ts';
import type { TurnState } from '../protocol/turn.ts';
import { spanText } from './approvals/span-text.ts';
import { pathText } from './speaker.ts';

const WAITS: Partial<Record<TurnState, string>> = {
  waiting_approval: 'waits for an approval',
  waiting_credential: 'waits for a credential',
  waiting_input: 'waits for an answer',
  waiting_job: 'waits for a job',
};

/** `root / payer waits for an approval of pay since 3 s`: what each agent below the root does. */
export function childLines(children: readonly RunningChild[], now = Date.now()): string[] {
  return children.map(({ path, status, tool, since }) => {
    const what = WAITS[status] ?? 'runs';
    const call = tool === undefined ? '' : ` of ${tool}`;
    return `${pathText(path)} ${what}${call} since ${spanText(now - since)}`;
  });
}

/** Those that wait for people or jobs. */
export function waitingChildren(children: readonly RunningChild[]): RunningChild[] {
  return children.filter(({ status }) => WAITS[status] !== undefined);
}
