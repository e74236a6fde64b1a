import type { Rows } from './row.ts';

/** Long-running jobs as async activities with job ids. */
export const JOBS: Rows = {
  'job.park': [
    'hector: IsLongRunning',
    'A long-running tool that returns nothing parks the turn until its job completes.',
  ],
  'job.detach': [
    'adk-js: LongRunningFunctionTool',
    'One that returns a value is told to the model; its result comes as a late response.',
  ],
  'job.updates': [
    'adk-js: long-running tools',
    'Any number of updates replace each other; the tool never runs again.',
  ],
  'job.pause': ['adk-rs: will_continue', "`pauseOnReturn` gives adk-rs's behaviour."],
  'job.message': ['adk-js: LongRunningFunctionTool', "A message with the call's response finishes the job."],
  'job.message.again': [
    'holdfast',
    'Sent again after its turn’s end, such a message gives that turn’s result and begins no other.',
    'deep',
  ],
  'job.callback': ['holdfast', 'A callback finishes a job; late and doubled ones get the recorded outcome.'],
  'job.poll': ['hector: Async Tool', 'A job is polled for weeks without a growing history.'],
  'job.inProcess': ['temporal: heartbeats', 'A job in the worker goes on elsewhere from its last details.'],
  'job.cancel': ['hector: CancellableTool', 'A job is cancelled from anywhere, and its tool told.'],
  'job.progress': ['adk-rs: emit_progress', 'Progress reaches details, status and followers.'],
  'job.timeouts': ['temporal: async activities', 'Jobs have timeouts to start, beat and end.'],
  'job.token': ['holdfast', "A job's token is good for that job only."],
  'job.sequence': ['adk-python: #5349', 'A second long-running call of a turn resumes as the first.'],
  'example.report': [
    'holdfast',
    'One command shows a report that a slow service calls back about, and one that is cancelled.',
    'deep',
  ],
  'limit.model': ['gemini: rate limits', 'A rate limit makes all workers wait.'],
  'limit.fairness': ['temporal: priority and fairness', 'Apps and users have quotas and fair shares.'],
};
