import type { RunningChild, TurnState } from '../../protocol/turn.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { spanText } from '../sessions/shown-values.ts';
import { pathText } from './speaker.ts';

const LONGEST_PATH = 400;
const LONGEST_NAME = 100;

const WAITS: Partial<Record<TurnState, string>> = {
  waiting_approval: 'waits for an approval',
  waiting_credential: 'waits for a credential',
  waiting_input: 'waits for an answer',
  waiting_job: 'waits for a job',
};

/** `root / payer waits for an approval of pay since 3 s`: what each agent below the root does, and what those below it wait for. */
export function childLines(children: readonly RunningChild[], now = Date.now()): string[] {
  return children.flatMap((child) => {
    const { waits = [], more = 0 } = child;
    const below = waits.map((wait) => lineOf(wait, now));
    if (more > 0) below.push(`${shownPath(child.path)}: ${more} more wait below`);
    const isTold = WAITS[child.status] !== undefined && waits.length > 0;
    return isTold ? below : [lineOf(child, now), ...below];
  });
}

function lineOf(
  { path, status, tool, since }: Pick<RunningChild, 'path' | 'status' | 'tool' | 'since'>,
  now: number,
): string {
  const call = tool === undefined ? '' : ` of ${visibleExcerpt(tool, LONGEST_NAME)}`;
  return `${shownPath(path)} ${WAITS[status] ?? 'runs'}${call} since ${spanText(now - since)}`;
}

/** Anybody may send the signal that tells of it. */
function shownPath(path: readonly string[]): string {
  return visibleExcerpt(pathText(path), LONGEST_PATH);
}

/** Those that wait for people or jobs. */
export function waitingChildren(children: readonly RunningChild[]): RunningChild[] {
  return children.filter(({ status }) => WAITS[status] !== undefined);
}
