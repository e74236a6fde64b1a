import { expect, test } from 'vitest';
import { direct } from '../../src/client/call.ts';
import {
  confirmRequest,
  listApprovals,
  provideCredential,
  provideInput,
} from '../../src/contract/approvals.ts';
import { putCredential } from '../../src/contract/credentials.ts';
import { cancelJob, completeJob, failJob, listJobs, progressJob } from '../../src/contract/jobs.ts';
import { addMemory, listMemories } from '../../src/contract/memories.ts';
import { OPERATOR, type Operation } from '../../src/contract/operation.ts';
import { createSession, deleteSession, getSession, listAppSessions } from '../../src/contract/sessions.ts';
import { cancelCall, interruptTurn } from '../../src/contract/turns.ts';

const user = { app: 'shop', userId: 'ada' };
const session = { ...user, sessionId: 's1' };
const jobId = `job-${'x'.repeat(22)}`;
const requestId = 'rq-e-1.1.0.1';
const DECIDED = { requestId, confirmed: true };
const SECRET = 'sk-live-secret';
let deep: unknown = 1;
for (let level = 0; level < 110; level += 1) deep = [deep];

/** Each limit on both of its sides: what is taken, and what is refused with which words. */
const LIMITS: readonly (readonly [Operation, object, object, RegExp | 'taken'])[] = [
  [completeJob, { jobId }, { result: 'x'.repeat(10 * 1024 * 1024 - 2) }, 'taken'],
  [
    completeJob,
    { jobId },
    { result: 'x'.repeat(10 * 1024 * 1024) },
    /result: 10485762 bytes of JSON, at most/,
  ],
  [completeJob, { result: 1 }, { jobId: 'job-1' }, /jobId: expected job-…/],
  [completeJob, { jobId }, {}, /result: expected JSON/],
  [completeJob, { jobId }, { result: deep }, /result: .*100 levels/],
  [completeJob, { jobId }, { result: { at: 1n } }, /result\.at: JSON has no bigint/],
  [completeJob, { jobId }, { result: null }, 'taken'],
  [failJob, { jobId }, { error: '💡'.repeat(2_000) }, 'taken'],
  [failJob, { jobId }, { error: 'x'.repeat(2_001) }, /error: 2001 characters, at most 2000/],
  [failJob, { jobId }, { error: '' }, /error: expected text/],
  [progressJob, { jobId }, { value: 0, message: 'x'.repeat(500) }, 'taken'],
  [progressJob, { jobId }, { value: 1 }, 'taken'],
  [progressJob, { jobId }, { value: 1.5 }, /value: expected a number from 0 to 1/],
  [progressJob, { jobId }, { value: -0.1 }, /value: expected a number from 0 to 1/],
  [progressJob, { jobId }, { value: '1' }, /value: expected a number from 0 to 1/],
  [progressJob, { jobId }, { value: Number.NaN }, /value: expected a number from 0 to 1/],
  [progressJob, { jobId }, { message: 'x'.repeat(501) }, /message: 501 characters, at most 500/],
  [cancelJob, { jobId }, { reason: 'x'.repeat(501) }, /reason: 501 characters, at most 500/],
  [listJobs, {}, { limit: 1_000, after: { since: 1, jobId } }, 'taken'],
  [listJobs, {}, { limit: 1_001 }, /limit: expected a whole number from 1 to 1000/],
  [listJobs, {}, { limit: 0 }, /limit: expected/],
  [listJobs, {}, { limit: 1.5 }, /limit: expected/],
  [listJobs, {}, { status: ['done'] }, /status\[0\]: expected 'running'/],
  [listJobs, {}, { after: { since: 1.5, jobId } }, /after\.since: expected/],
  [listJobs, {}, { after: { since: 1e30, jobId } }, /after\.since: expected/],
  [listJobs, {}, { app: '' }, /app: expected a non-empty string/],
  [listApprovals, {}, { limit: 0 }, /limit: expected/],
  [listApprovals, {}, { kind: 'vote' }, /kind: expected 'confirmation'/],
  [listApprovals, {}, { status: ['open'] }, /status\[0\]: expected 'pending'/],
  [confirmRequest, DECIDED, { reason: 'x'.repeat(2_000), attestation: 'x'.repeat(8_192) }, 'taken'],
  [confirmRequest, { requestId }, {}, /approvals.confirm: confirmed: expected true/],
  [confirmRequest, DECIDED, { confirmed: 'yes' }, /confirmed: expected true/],
  [confirmRequest, DECIDED, { args: [1] }, /args: expected an object/],
  [confirmRequest, DECIDED, { reason: 'x'.repeat(2_001) }, /reason: 2001 characters, at most 2000/],
  [confirmRequest, DECIDED, { payload: 'x'.repeat(40_000) }, /bytes of JSON, at most 32768/],
  [confirmRequest, DECIDED, { attestation: 'x'.repeat(8_193) }, /attestation: 8193 characters, at most 8192/],
  [confirmRequest, DECIDED, { shown: { session: '1' } }, /shown\.argsDigest: expected/],
  [putCredential, { ...user, credentialKey: 'k' }, { credential: { authType: 'apiKey' } }, 'taken'],
  [provideInput, { requestId }, {}, /response: expected JSON/],
  [provideCredential, { requestId }, { credentialRef: SECRET }, /credentialRef: expected the credentialRef/],
  [addMemory, user, { text: 'x'.repeat(32_000) }, 'taken'],
  [addMemory, user, { text: 'x'.repeat(32_001) }, /text: 32001 characters/],
  [addMemory, user, { text: '' }, /text/],
  [addMemory, user, { text: 'x', memoryId: '' }, /memoryId: expected a non-empty string/],
  [listMemories, user, { limit: 0 }, /limit/],
  [listMemories, { app: 'shop' }, {}, /userId/],
  [listMemories, user, { query: 'x'.repeat(4_001) }, /query/],
  [createSession, user, { sessionId: 'a\0b' }, /sessionId: expected/],
  [createSession, user, { sessionId: '\ud800' }, /sessionId: expected/],
  [createSession, user, { userId: '' }, /userId: expected/],
  [createSession, user, { app: 'x'.repeat(2_000) }, /app: 2000 characters/],
  [createSession, user, { state: [1] }, /state: expected an object/],
  [getSession, session, { numRecentEvents: 0, after: 0 }, 'taken'],
  [getSession, session, { numRecentEvents: -1 }, /numRecentEvents/],
  [getSession, session, { after: 0.5 }, /after/],
  [listAppSessions, { app: 'shop' }, { limit: 5_000 }, /limit/],
  [listAppSessions, { app: 'shop' }, { limit: -1 }, /limit/],
  [listAppSessions, { app: 'shop' }, { order: 'up' }, /order/],
  [listAppSessions, { app: 'shop' }, { offset: -1 }, /offset/],
  [listAppSessions, { app: 'shop' }, { after: '12' }, /after: expected the `next` of another page/],
  [deleteSession, session, { idleSince: -1 }, /idleSince/],
  [deleteSession, session, { timeout: -1 }, /timeout: expected milliseconds from 0/],
  [cancelCall, session, { callKey: 'x'.repeat(3_000_000) }, /callKey: 3000000 characters/],
  [interruptTurn, session, { invocationId: '' }, /invocationId/],
  [interruptTurn, session, { timeout: Number.POSITIVE_INFINITY }, /timeout: expected milliseconds from 0/],
  [interruptTurn, session, { timeout: '5000' }, /timeout: expected milliseconds from 0/],
];

test('an operation takes what its contract takes, and names the field that it refuses [client.invalid]', async () => {
  for (const [operation, given, change, outcome] of LIMITS) {
    const taken: object[] = [];
    const call = direct({ [operation.name]: async (input: never) => void taken.push(input) }, undefined);
    const input = { ...given, ...change };
    // An unknown field is no part of it.
    const asked = call(operation, { ...input, unknown: SECRET } as never, OPERATOR);
    const error = await asked.catch((thrown: unknown) => thrown);
    if (outcome === 'taken') expect([taken, error]).toEqual([[input], undefined]);
    else {
      const code = operation.invalid ?? 'HOLDFAST_INVALID_TURN';
      expect(error).toMatchObject({ code, message: expect.stringMatching(outcome) });
      expect(taken).toEqual([]);
      expect(String(error)).not.toContain(SECRET);
    }
  }
});
