import { codedError } from '../contract/error.ts';

/** The problem of a job's token. */
type TokenProblem = 'malformed' | 'unknown key' | 'forged' | 'expired' | 'other job';

const TEXTS: Readonly<Record<TokenProblem, string>> = {
  malformed: 'it is no token of a job: give `context.job.token` as it was',
  'unknown key':
    'it is signed by an unknown key: this process has not the key of HOLDFAST_CREDENTIAL_KEYS that made it',
  forged: 'its signature does not fit',
  expired: 'it has expired, a week after the deadline of its job',
  'other job': 'it is for another job',
};

const PROBLEMS = Object.keys(TEXTS) as TokenProblem[];

/** Somebody who speaks for a job has no right to. Never quotes the token. */
export class JobTokenRefused extends codedError('HOLDFAST_JOB_TOKEN_REFUSED') {
  /** By the message, which is all that a gateway tells of it. */
  get problem(): TokenProblem {
    return PROBLEMS.find((problem) => this.message.endsWith(TEXTS[problem])) ?? 'malformed';
  }
}

export function jobTokenRefused(problem: TokenProblem): JobTokenRefused {
  return new JobTokenRefused(`the job's token is refused: ${TEXTS[problem]}`);
}
