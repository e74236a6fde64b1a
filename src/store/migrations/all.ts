import { tables } from './0001-tables.ts';
import { append } from './0002-append.ts';
import { steps } from './0003-steps.ts';
import { calls } from './0004-calls.ts';
import { inbox } from './0005-inbox.ts';
import { sessions } from './0006-sessions.ts';
import { endings } from './0007-endings.ts';
import { rewinds } from './0008-rewinds.ts';
import { responses } from './0009-responses.ts';
import { hooks } from './0010-hooks.ts';
import { appends } from './0011-appends.ts';
import { settling } from './0012-settling.ts';
import { approvals } from './0013-approvals.ts';
import { entries } from './0014-entries.ts';
import { answeredCalls } from './0015-answered-calls.ts';
import { credentials } from './0016-credentials.ts';
import { endedRequests } from './0017-ended-requests.ts';
import { requesters } from './0018-requesters.ts';
import { retriedRequests } from './0019-retried-requests.ts';
import { keptActions } from './0020-kept-actions.ts';
import { jobs } from './0021-jobs.ts';
import { jobMessages } from './0022-job-messages.ts';
import { heardMessages } from './0023-heard-messages.ts';
import { jobsOfCalls } from './0024-jobs-of-calls.ts';
import { limits } from './0030-limits.ts';
import { turnSlots } from './0031-turn-slots.ts';
import { children } from './0040-children.ts';
import { childSteps } from './0041-child-steps.ts';
import { calledAgents } from './0042-called-agents.ts';
import { limitsTold } from './0043-limits-told.ts';
import { jobDeadlines } from './0044-job-deadlines.ts';
import { apiKeys } from './0050-api-keys.ts';
import { denials } from './0051-denials.ts';
import { usedLinks } from './0052-used-links.ts';
import { signIns } from './0053-sign-ins.ts';
import { notices } from './0054-notices.ts';
import { webhookDeliveries } from './0055-webhook-deliveries.ts';
import { slack } from './0056-slack.ts';
import { jobPersons } from './0057-job-persons.ts';
import { lateAttempts } from './0059-late-attempts.ts';
import { signatures } from './0060-signatures.ts';
import { remembered } from './0062-remembered.ts';
import { jobAnswers } from './0063-job-answers.ts';

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

/** Forward-only: a released migration never changes, and workers of the release before still run on its result. */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'tables', sql: tables },
  { version: 2, name: 'append', sql: append },
  { version: 3, name: 'steps', sql: steps },
  { version: 4, name: 'calls', sql: calls },
  { version: 5, name: 'inbox', sql: inbox },
  { version: 6, name: 'sessions', sql: sessions },
  { version: 7, name: 'endings', sql: endings },
  { version: 8, name: 'rewinds', sql: rewinds },
  { version: 9, name: 'responses', sql: responses },
  { version: 10, name: 'hooks', sql: hooks },
  { version: 11, name: 'appends', sql: appends },
  { version: 12, name: 'settling', sql: settling },
  { version: 13, name: 'approvals', sql: approvals },
  { version: 14, name: 'entries', sql: entries },
  { version: 15, name: 'answered calls', sql: answeredCalls },
  { version: 16, name: 'credentials', sql: credentials },
  { version: 17, name: 'ended requests', sql: endedRequests },
  { version: 18, name: 'requesters', sql: requesters },
  { version: 19, name: 'retried requests', sql: retriedRequests },
  { version: 20, name: 'kept actions', sql: keptActions },
  { version: 21, name: 'jobs', sql: jobs },
  { version: 22, name: 'job messages', sql: jobMessages },
  { version: 23, name: 'heard messages', sql: heardMessages },
  { version: 24, name: 'jobs of calls', sql: jobsOfCalls },
  { version: 30, name: 'limits', sql: limits },
  { version: 31, name: 'turn slots', sql: turnSlots },
  { version: 40, name: 'children', sql: children },
  { version: 41, name: 'child steps', sql: childSteps },
  { version: 42, name: 'called agents', sql: calledAgents },
  { version: 43, name: 'limits told', sql: limitsTold },
  { version: 44, name: 'job deadlines', sql: jobDeadlines },
  { version: 50, name: 'api keys', sql: apiKeys },
  { version: 51, name: 'denials', sql: denials },
  { version: 52, name: 'used links', sql: usedLinks },
  { version: 53, name: 'sign-ins', sql: signIns },
  { version: 54, name: 'notices', sql: notices },
  { version: 55, name: 'webhook deliveries', sql: webhookDeliveries },
  { version: 56, name: 'slack', sql: slack },
  { version: 57, name: 'job persons', sql: jobPersons },
  { version: 59, name: 'late attempts', sql: lateAttempts },
  { version: 60, name: 'signatures', sql: signatures },
  { version: 62, name: 'remembered', sql: remembered },
  { version: 63, name: 'job answers', sql: jobAnswers },
];
