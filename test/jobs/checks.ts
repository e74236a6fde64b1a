import type { Findings } from '../soak/violation.ts';
import { type Answered, finals, isSame, type JobEvidence } from './evidence.ts';

/** How often a job's tool may have run, and its call be answered in the transcript. */
export interface Allowed {
  runs: number;
  /** A message that comes late begins a turn with the outcome. */
  answers: number;
  /** By messages, as the outcome. */
  said?: readonly unknown[];
  /** Its turn was terminated: nobody has told whoever does it. */
  unheard?: boolean;
}

const inJson = (value: unknown) => JSON.stringify(value);

/** What a job promises, whatever happened to it: one outcome, and everybody is told the same. */
export function checkJob(
  job: JobEvidence,
  answered: readonly Answered[],
  allowed: Allowed,
  found: Findings,
): void {
  const { row, notes, seen, workflow } = job;
  const { outcome, status, jobId } = row;
  const name = `${row.tool} ${jobId} (${row.mode}, ${status} by ${row.endedBy})`;
  found.expect(status !== 'running' && outcome !== undefined, 'every job ends', () => name);

  const told = finals(job);
  found.expect(told.length > 0, 'the session is told of it', () => name);
  found.expect(
    told.length <= allowed.answers,
    'the session is told of it once',
    () => `${name}: ${inJson(told)}`,
  );
  // Of what messages say the latest counts, as in ADK; a call that has returned before anybody waited for it gives way to them.
  const latest = told.at(-1)?.response;
  const givesWay = row.endedBy === 'tool' && row.mode === 'started';
  const counts = givesWay && allowed.said?.some((said) => isSame(said, latest)) ? latest : outcome?.response;
  for (const { response } of row.endedBy === 'message' || givesWay ? told.slice(-1) : told) {
    found.expect(
      isSame(response, counts),
      'the transcript has the outcome',
      () => `${name}: ${inJson(response)} for ${inJson(outcome)}`,
    );
  }
  // A call that was cut off before the model was told anything has its outcome where it was called.
  if (row.mode === 'detached' && job.responses[0]?.willContinue) {
    found.expect(row.deliveredSeq !== undefined, 'what was delivered is known', () => name);
    found.expect(workflow?.open !== true, 'its workflow ends', () => name);
    const known = workflow?.status;
    found.expect(
      known === undefined || known.status === status,
      'its workflow ends with it',
      () => `${name}: ${inJson(known)}`,
    );
  }
  const said = seen.map(({ response }) => response);
  // A message that comes behind the last look is one that the model is yet to be shown, and so are calls of its turn.
  const isYetToBeShown = job.beforeClosing === 0 && job.responses.length > 0;
  const shown = finals({ ...job, responses: job.responses.slice(0, job.beforeClosing) }).at(-1)?.response;
  const changes = givesWay || row.endedBy === 'message';
  found.expect(
    isYetToBeShown || (said.length === 1 && isSame(said[0], changes ? shown : counts)),
    'the model is told the outcome, once',
    () => `${name}: ${inJson(said)} for ${inJson(outcome)}`,
  );
  checkAnswers(name, job, answered, found);

  const ran = notes.filter(({ what }) => what === 'ran').length;
  found.expect(ran <= allowed.runs, 'a tool runs as often as promised', () => `${name}: ${ran} times`);
  const handedOut = notes.findIndex(({ what }) => what === 'parked' || what === 'detached');
  found.expect(
    handedOut === -1 || notes.slice(handedOut).every(({ what }) => what !== 'ran'),
    'a tool that has handed out its job never runs again',
    () => `${name}: ${inJson(notes.map(({ what }) => what))}`,
  );
  checkHook(name, job, allowed, found);
}

/** Whoever does a job is told that nobody wants its outcome. */
function checkHook(
  name: string,
  { row: { tool, status, mode }, notes }: JobEvidence,
  { unheard = false }: Allowed,
  found: Findings,
): void {
  if (tool === 'decide') return;
  const heard = notes.some(({ what }) => what === 'told');
  const isUnwanted = status === 'cancelled' || status === 'timed_out';
  // A call that runs is told when it is cancelled; somebody may end its job before that is recorded.
  if (!isUnwanted && mode !== 'started') {
    found.expect(!heard, 'only who is not wanted any more is told so', () => name);
  }
  if (isUnwanted && !unheard) {
    found.expect(heard, 'who is not wanted any more is told so', () => name);
  }
}

function checkAnswers(name: string, job: JobEvidence, answered: readonly Answered[], found: Findings): void {
  const { row } = job;
  const said = row.endedBy === 'message' ? finals(job).map(({ response }) => response) : [];
  const own = answered.filter(({ jobId }) => jobId === row.jobId);
  for (const answer of own) {
    const { outcome, job: status } = answer;
    if (outcome !== undefined) {
      found.expect(
        isSame(outcome, row.outcome) || said.some((response) => isSame(outcome.response, response)),
        'every caller is told the outcome',
        () => `${name}: ${inJson(answer)} for ${inJson(row.outcome)}`,
      );
    }
    if (status !== undefined && status !== 'running') {
      found.expect(
        status === row.status,
        'every caller is told how it ended',
        () => `${name}: ${inJson(answer)}`,
      );
    }
  }
  const first = own.filter(({ status }) => status === 'ended');
  found.expect(first.length <= 1, 'one caller has ended it', () => `${name}: ${inJson(first)}`);
}
