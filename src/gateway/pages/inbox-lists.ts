import type { Approvals } from '../../client/approvals/approvals.ts';
import type { Jobs } from '../../client/jobs/jobs.ts';
import type { JobRow, JobStatus } from '../../contract/jobs.ts';
import type { Permission } from '../../contract/lists.ts';
import type { ApprovalRow, GateKind, RequestStatus } from '../../contract/requests.ts';
import type { Principal, Reach } from '../access/access.ts';

/** Rows of a page. */
const PAGE = 25;
/** Rows of a source at a time, and how often at most for one page: who may see little of much goes on from page to page. */
const LOOKED_AT = PAGE + 1;
const MOST_LOOKS = 10;

export interface RequestFilter {
  app?: string | undefined;
  kind?: GateKind | undefined;
  status: readonly RequestStatus[];
  order: 'oldest' | 'newest';
  after?: { since: number; requestId: string } | undefined;
}

export interface JobFilter {
  app?: string | undefined;
  status: readonly JobStatus[];
  order: 'oldest' | 'newest';
  after?: Place | undefined;
}

export interface Page<Row> {
  rows: Row[];
  /** The last row that was looked at, after which there may be more. */
  next?: { since: number; id: string };
}

/** Requests that a principal may see. A decider may see its requests. */
export async function visibleRequests(
  approvals: Pick<Approvals, 'list'>,
  principal: Principal,
  { app, kind, status, order, after }: RequestFilter,
): Promise<Page<ApprovalRow>> {
  const list = async (source: Source, behind: Place | undefined) =>
    await approvals.list({
      ...{ ...source, status, order, limit: LOOKED_AT },
      ...(kind === undefined ? {} : { kind }),
      ...(behind === undefined ? {} : { after: { since: behind.since, requestId: behind.id } }),
    });
  return await visiblePage(principal, {
    ...{ app, order, list, permissions: ['read', 'approve'] },
    after: after && { since: after.since, id: after.requestId },
    idOf: ({ requestId }) => requestId,
    isShown: (row) => maySee(principal, row),
  });
}

/** Jobs that somebody may see. */
export async function visibleJobs(
  jobs: Pick<Jobs, 'list'>,
  principal: Principal,
  { app, status, order, after }: JobFilter,
): Promise<Page<JobRow>> {
  return await visiblePage(principal, {
    ...{ app, after, order, permissions: ['read'] },
    list: async (source, behind) =>
      await jobs.list({
        ...{ ...source, status, order, limit: LOOKED_AT },
        ...(behind === undefined ? {} : { after: { since: behind.since, jobId: behind.id } }),
      }),
    idOf: ({ jobId }) => jobId,
    isShown: ({ app: ofApp, userId }) =>
      principal.may({ permission: 'read', app: ofApp, userId }) === 'allowed',
  });
}

export function maySee(principal: Principal, { app, userId }: Pick<ApprovalRow, 'app' | 'userId'>): boolean {
  return mayDecide(principal, { app, userId }) || mayRead(principal, { app, userId });
}

export function mayRead(principal: Principal, { app, userId }: Pick<ApprovalRow, 'app' | 'userId'>): boolean {
  return principal.may({ permission: 'read', app, userId }) === 'allowed';
}

export function mayDecide(
  principal: Principal,
  { app, userId }: Pick<ApprovalRow, 'app' | 'userId'>,
): boolean {
  return principal.may({ permission: 'approve', app, userId }) === 'allowed';
}

interface Place {
  since: number;
  id: string;
}

/** Of which app, and of which user, the store is asked. */
type Source = Pick<Reach, 'app' | 'userId'>;

interface Lister<Row> {
  app: string | undefined;
  /** One of which is needed to see a row. */
  permissions: readonly Permission[];
  order: 'oldest' | 'newest';
  after: Place | undefined;
  list(source: Source, after: Place | undefined): Promise<Row[]>;
  idOf(row: Row): string;
  isShown(row: Row): boolean;
}

async function visiblePage<Row extends { since: number }>(
  principal: Principal,
  { app, permissions, order, after, list, idOf, isShown }: Lister<Row>,
): Promise<Page<Row>> {
  const sources = sourcesOf(principal, { app, permissions });
  const isBefore = (one: Place, other: Place) => {
    const less = one.since < other.since || (one.since === other.since && one.id < other.id);
    return order === 'oldest' ? less : !less;
  };
  const placeOf = (row: Row): Place => ({ since: row.since, id: idOf(row) });
  const rows: Row[] = [];
  let place = after;
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const from = place;
    const found = await Promise.all(sources.map((source) => list(source, from)));
    const sorted = found.flat().sort((one, other) => (isBefore(placeOf(one), placeOf(other)) ? -1 : 1));
    // A source with more rows has no order after its last one yet.
    const ends = found
      .filter((page) => page.length === LOOKED_AT)
      .flatMap((page) => page.slice(-1).map(placeOf));
    const end = ends.sort((one, other) => (isBefore(one, other) ? -1 : 1))[0];
    for (const row of sorted) {
      const here = placeOf(row);
      if (end !== undefined && isBefore(end, here)) break;
      // Of two sources.
      if (place !== undefined && here.id === place.id) continue;
      if (isShown(row)) {
        if (rows.length === PAGE) return { rows, ...(place === undefined ? {} : { next: place }) };
        rows.push(row);
      }
      place = here;
    }
    if (end === undefined) return { rows };
  }
  return { rows, ...(place === undefined ? {} : { next: place }) };
}

/** The reads of the store: only rows that the principal may see, and each once. */
function sourcesOf(
  { reaches = [{ permissions: ['read', 'approve'] }] }: Principal,
  { app, permissions }: Pick<Lister<never>, 'app' | 'permissions'>,
): Source[] {
  const sources = new Map<string, Source>();
  for (const reach of reaches) {
    const isOfApp = app === undefined || reach.app === undefined || reach.app === app;
    if (!isOfApp || !reach.permissions.some((each) => permissions.includes(each))) continue;
    const ofApp = reach.app ?? app;
    const source: Source = {
      ...(ofApp === undefined ? {} : { app: ofApp }),
      ...(reach.userId === undefined ? {} : { userId: reach.userId }),
    };
    sources.set(JSON.stringify([source.app, source.userId]), source);
  }
  const all = [...sources.values()];
  return all.filter((one) => !all.some((other) => other !== one && isWithin(one, other)));
}

function isWithin(one: Source, other: Source): boolean {
  const isApp = other.app === undefined || other.app === one.app;
  return isApp && (other.userId === undefined || other.userId === one.userId);
}
