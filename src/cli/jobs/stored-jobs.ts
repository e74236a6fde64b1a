import type { Jobs } from '../../client/jobs/jobs.ts';
import type { JobStore } from '../../store/jobs/job-store.ts';

/** What of {@link Jobs} asks nothing but the store. */
export function storedJobs(jobs: JobStore): Pick<Jobs, 'list' | 'get'> {
  return { list: (list) => jobs.list(list), get: (jobId) => jobs.find(jobId) };
}
