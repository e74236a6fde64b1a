import type { Jobs } from '../../client/jobs/jobs.ts';
import type { JobStore } from '../../store/store.ts';

/** What of {@link Jobs} asks nothing but the store. */
export function storedJobs(store: JobStore): Pick<Jobs, 'list' | 'get'> {
  return { list: (list) => store.listJobs(list), get: (jobId) => store.findJob(jobId) };
}
