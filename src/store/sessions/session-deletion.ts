import { checkTime, shownName } from '../engine/arguments.ts';
import type { Database } from '../engine/database.ts';
import { SessionHasForks } from '../store-errors.ts';
import { type SessionNames, sessionKeys } from './session-names.ts';
import type { DeletedSession, DetachedJob, SessionStore } from './session-store.ts';

const DELETE =
  'select holdfast.delete_session(holdfast.root_key($1), $2, $3, to_timestamp($4::double precision / 1000)) as answer';

/** With the session itself, which comes first. */
const TREE = `with recursive tree as (
  select s.id, s.app, s.user_id, s.name, 0 as depth from holdfast.sessions s where s.name_key = $1
  union all
  select f.id, f.app, f.user_id, f.name, t.depth + 1 from tree t join holdfast.sessions f on f.parent_id = t.id
) select t.id, t.app, t.user_id as "userId", t.name as "sessionId", (
    select json_agg(json_build_object('jobId', j.job_id, 'callKey', j.call_key) order by j.since, j.job_id)
    from holdfast.jobs j
    where j.session_id in (select c.id from holdfast.sessions c where c.id = t.id or c.root_session = t.id) and j.mode = 'detached' and (j.status = 'running' or j.delivered_seq is null)
  ) as jobs
from tree t order by t.depth, t.id`;

const MOST_NAMED = 10;

interface Treed extends SessionNames {
  id: string;
  jobs: DetachedJob[] | null;
}

type DeleteAnswer = { deleted: SessionNames[] } | { forks: SessionNames[] } | { kept: true };

export function sessionDeletion(database: Database): Pick<SessionStore, 'delete' | 'forksOf'> {
  return {
    async delete(remove) {
      const { withForks = false, idleSince } = remove;
      checkTime('idleSince', idleSince);
      const key = sessionKeys(remove).name;
      // A deletion whose answer is lost is repeated, and finds nothing more.
      const doomed = await treeOf(database, key);
      if (doomed.length === 0) return [];
      const [row] = await database.query<{ answer: DeleteAnswer }>(DELETE, [
        key,
        doomed.map(({ id }) => id),
        withForks,
        idleSince ?? null,
      ]);
      const { answer } = row as { answer: DeleteAnswer };
      if ('kept' in answer) return [];
      if ('deleted' in answer) {
        if (answer.deleted.length === 0) return doomed.map(deletedSession);
        const known = new Map(doomed.map((one) => [sessionKeys(one).name, one]));
        return answer.deleted.map((names) => ({ ...names, ...jobsOf(known.get(sessionKeys(names).name)) }));
      }
      const forks = answer.forks.slice(1).map(({ sessionId }) => shownName(sessionId));
      const more = forks.length > MOST_NAMED ? ` and ${forks.length - MOST_NAMED} more` : '';
      throw new SessionHasForks(
        `sessionId: ${forks.slice(0, MOST_NAMED).join(', ')}${more} forked from session ${shownName(remove.sessionId)} ` +
          'and read its events; delete these first, or all of them with withForks',
      );
    },
    async forksOf(names) {
      return (await treeOf(database, sessionKeys(names).name)).slice(1).map(namesOf);
    },
  };
}

function treeOf(database: Database, key: string): Promise<Treed[]> {
  return database.query<Treed>(TREE, [key]);
}

function deletedSession(treed: Treed): DeletedSession {
  return { ...namesOf(treed), ...jobsOf(treed) };
}

function jobsOf(treed: Treed | undefined): Pick<DeletedSession, 'jobs'> {
  return treed?.jobs ? { jobs: treed.jobs } : {};
}

function namesOf({ app, userId, sessionId }: Treed): SessionNames {
  return { app, userId, sessionId };
}
