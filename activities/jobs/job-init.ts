import { signJobToken } from '../../src/jobs/job-token.ts';
import type { JobProgressed } from '../../src/protocol/job.ts';
import { JOB_PROGRESS } from '../../src/protocol/names.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import type { JobClaims, JobRow } from '../../src/store/store.ts';
import type { JobInit } from '../../src/tools/context-init.ts';
import { thrownMessage } from '../../src/tools/thrown-message.ts';
import type { ActivityDependencies } from '../dependencies.ts';

export interface JobParts {
  claims: () => JobClaims;
  until: number;
  longRunning: boolean;
  details?: unknown;
  /** Its token was asked for. */
  given?: () => void;
  /** Writes its row where there is none. */
  opened: () => Promise<JobRow>;
}

/** A job as `context.job` shows it. */
export function jobInit(dependencies: ActivityDependencies, parts: JobParts): JobInit {
  const { publicUrl, credentialKeys, store } = dependencies;
  const { claims, until, longRunning, details } = parts;
  return {
    get id() {
      return claims().jobId;
    },
    until,
    longRunning,
    ...(details === undefined ? {} : { details }),
    callbackUrl() {
      const url = publicUrl();
      return url === undefined ? undefined : `${url}/v1/jobs/${claims().jobId}`;
    },
    token() {
      if (credentialKeys === undefined) return undefined;
      parts.given?.();
      return signJobToken(credentialKeys, claims());
    },
    async progress(value, message) {
      await parts.opened();
      const told = { jobId: claims().jobId, value, ...(message === undefined ? {} : { message }) };
      const { job, tells } = await store.progressJob(told);
      if (tells) await tellProgress(dependencies, job);
    },
  };
}

/** Has the workflow that waits show how far its job has got. Nobody waits for that. */
export async function tellProgress(
  { temporal, logger, conceal }: Pick<ActivityDependencies, 'temporal' | 'logger' | 'conceal'>,
  { jobId, progress, address }: JobRow,
): Promise<void> {
  if (progress === undefined || address === undefined) return;
  const news: JobProgressed = { v: PROTOCOL_VERSION, jobId, progress };
  try {
    // Without its run's id: the workflow may have gone on as a new run.
    await temporal().workflow.getHandle(address.workflowId).signal(JOB_PROGRESS, news);
  } catch (error) {
    logger.debug('a workflow was not told of its job’s progress', {
      jobId,
      ...(conceal ? {} : { problem: thrownMessage(error) }),
    });
  }
}
