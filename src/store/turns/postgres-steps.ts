import { stepKeyOf } from '../../protocol/identity.ts';
import type { Database } from '../engine/database.ts';
import type { LiveNotices } from '../live/live-notices.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import { recordFailure } from './postgres-calls.ts';
import { commitStep, settleStep } from './step-committing.ts';
import { openStep, peekStep } from './step-opening.ts';
import type { OpenStep, StepStore } from './step-store.ts';

/** Model steps in PostgreSQL: each operation is one statement, and followers hear what it has written. */
export function postgresSteps(database: Database, live: LiveNotices): StepStore {
  return {
    async openStep(step) {
      const { opened, appended, news = [], above } = await openStep(database, step);
      const { session, seq } = opened;
      if (appended) live.tell({ type: 'appended', session, seq, ...namesOf(step) });
      live.tellJobs(session, news);
      if (above !== undefined && step.parent !== undefined) {
        const { callKey, path } = step.parent;
        live.tell({ type: 'child', session: above, child: session, runKey: step.runKey, callKey, path });
      }
      return opened;
    },
    peekStep: (step) => peekStep(database, step),
    async commitStep(step) {
      const committed = await commitStep(database, step);
      if (committed.kind === 'committed' && step.events.length > 0) {
        live.tell({ type: 'appended', session: step.session, seq: committed.seq });
      }
      return committed;
    },
    recordStepFailure({ runKey, step, ...failed }) {
      return recordFailure(database, { ...failed, key: stepKeyOf(runKey, step) });
    },
    async settleStep(step) {
      const { settled, appended, calls, news } = await settleStep(database, step);
      const { session, runKey } = step;
      for (const [callKey, tool, failed] of calls) {
        live.tell({ type: 'call finished', session, runKey, callKey, tool, failed });
      }
      live.tellJobs(session, news);
      if (appended) live.tell({ type: 'appended', session, seq: settled.seq });
      return settled;
    },
  };
}

/** A turn's first event says whose it is: followers who wait for the session don't know its id. */
function namesOf({ identity }: OpenStep): { names?: SessionNames } {
  if (identity === undefined) return {};
  const { app, userId, sessionId } = identity;
  return { names: { app, userId, sessionId } };
}
