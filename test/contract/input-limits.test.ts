import { expect, test } from 'vitest';
import { direct } from '../../src/client/call.ts';
import {
  confirmRequest,
  listApprovals,
  provideCredential,
  provideInput,
} from '../../src/contract/approvals.ts';
import { cancelJob, completeJob, failJob, listJobs, progressJob } from '../../src/contract/jobs.ts';
import { addMemory, listMemories } from '../../src/contract/memories.ts';
import { OPERATOR, type Operation } from '../../src/contract/operation.ts';
import { createSession, deleteSession, getSession, listAppSessions } from '../../src/contract/sessions.ts';
import { cancelCall, interruptTurn } from '../../src/contract/turns.ts';

const user = { app: 'shop', userId: 'ada' };
const session = { ...user, sessionId: 's1' };
const jobId = `job-${'x'.repeat(22)}`;
const requestId = 'rq-e-1.1.0.1';
const after = { since: 1, jobId };
const SECRET = 'sk-live-secret';
let deep: unknown = 1;
for (let level = 0; level < 110; level += 1) deep = [deep];

/** Each limit on both of its sides, where it has two: what is taken, and what is refused with which words. */
const LIMITS: readonly [Operation, object, readonly (readonly [object, RegExp | 'taken'])[]][] = [
  [
    completeJob,
    { jobId, result: 1 },
    [
      [{ result: 'x'.repeat(10 * 1024 * 1024 - 2) }, 'taken'],
      [{ result: 'x'.repeat(10 * 1024 * 1024) }, /result: 10485762 bytes of JSON, at most/],
      [{ jobId: 'job-1' }, /jobId: expected job-…/],
      [{ result: undefined }, /result: expected JSON/],
      [{ result: deep }, /result: .*100 levels/],
      [{ result: { at: 1n } }, /result\.at: JSON has no bigint/],
      [{ result: null }, 'taken'],
    ],
  ],
  [
    failJob,
    { jobId, error: 'x' },
    [
      [{ error: '💡'.repeat(2_000) }, 'taken'],
      [{ error: 'x'.repeat(2_001) }, /error: 2001 characters, at most 2000/],
      [{ error: '' }, /error: expected text/],
    ],
  ],
  [
    progressJob,
    { jobId },
    [
      [{ value: 0, message: 'x'.repeat(500) }, 'taken'],
      [{ value: 1 }, 'taken'],
      [{ value: 1.5 }, /value: expected a number from 0 to 1/],
      [{ value: -0.1 }, /value: expected a number from 0 to 1/],
      [{ value: '1' }, /value: expected a number from 0 to 1/],
      [{ value: Number.NaN }, /value: expected a number from 0 to 1/],
      [{ message: 'x'.repeat(501) }, /message: 501 characters, at most 500/],
    ],
  ],
  [cancelJob, { jobId }, [[{ reason: 'x'.repeat(501) }, /reason: 501 characters, at most 500/]]],
  [
    listJobs,
    {},
    [
      [{ limit: 1_000, after }, 'taken'],
      [{ limit: 1_001 }, /limit: expected a whole number from 1 to 1000/],
      [{ limit: 0 }, /limit: expected/],
      [{ limit: 1.5 }, /limit: expected/],
      [{ status: ['done'] }, /status\[0\]: expected 'running'/],
      [{ after: { since: 1.5, jobId } }, /after\.since: expected/],
      [{ after: { since: 1e30, jobId } }, /after\.since: expected/],
      [{ app: '' }, /app: expected a non-empty string/],
    ],
  ],
  [
    listApprovals,
    {},
    [
      [{ limit: 0 }, /limit: expected/],
      [{ kind: 'vote' }, /kind: expected 'confirmation'/],
      [{ status: ['open'] }, /status\[0\]: expected 'pending'/],
    ],
  ],
  [
    confirmRequest,
    { requestId, confirmed: true },
    [
      [{ reason: 'x'.repeat(2_000), attestation: 'x'.repeat(8_192) }, 'taken'],
      [{ confirmed: undefined }, /approvals.confirm: confirmed: expected true/],
      [{ confirmed: 'yes' }, /confirmed: expected true/],
      [{ args: [1] }, /args: expected an object/],
      [{ reason: 'x'.repeat(2_001) }, /reason: 2001 characters, at most 2000/],
      [{ payload: 'x'.repeat(40_000) }, /bytes of JSON, at most 32768/],
      [{ attestation: 'x'.repeat(8_193) }, /attestation: 8193 characters, at most 8192/],
      [{ shown: { session: '1' } }, /shown\.argsDigest: expected/],
    ],
  ],
  [provideInput, { requestId, response: 1 }, [[{ response: undefined }, /response: expected JSON/]]],
  [
    provideCredential,
    { requestId, credentialRef: `cr-${'x'.repeat(22)}` },
    [[{ credentialRef: SECRET }, /credentialRef: expected the credentialRef/]],
  ],
  [
    addMemory,
    { ...user, text: 'x' },
    [
      [{ text: 'x'.repeat(32_000) }, 'taken'],
      [{ text: 'x'.repeat(32_001) }, /text: 32001 characters/],
      [{ text: '' }, /text/],
      [{ memoryId: '' }, /memoryId: expected a non-empty string/],
    ],
  ],
  [
    listMemories,
    user,
    [
      [{ limit: 0 }, /limit/],
      [{ userId: undefined }, /userId/],
      [{ query: 'x'.repeat(4_001) }, /query/],
    ],
  ],
  [
    createSession,
    user,
    [
      [{ sessionId: 'a\0b' }, /sessionId: expected/],
      [{ sessionId: '\ud800' }, /sessionId: expected/],
      [{ userId: '' }, /userId: expected/],
      [{ app: 'x'.repeat(2_000) }, /app: 2000 characters/],
      [{ state: [1] }, /state: expected an object/],
    ],
  ],
  [
    getSession,
    session,
    [
      [{ numRecentEvents: 0, after: 0 }, 'taken'],
      [{ numRecentEvents: -1 }, /numRecentEvents/],
      [{ after: 0.5 }, /after/],
    ],
  ],
  [
    listAppSessions,
    { app: 'shop' },
    [
      [{ limit: 5_000 }, /limit/],
      [{ limit: -1 }, /limit/],
      [{ order: 'up' }, /order/],
      [{ offset: -1 }, /offset/],
    ],
  ],
  [
    deleteSession,
    session,
    [
      [{ idleSince: -1 }, /idleSince/],
      [{ timeout: -1 }, /timeout: expected milliseconds from 0/],
    ],
  ],
  [cancelCall, session, [[{ callKey: 'x'.repeat(3_000_000) }, /callKey: 3000000 characters/]]],
  [
    interruptTurn,
    session,
    [
      [{ invocationId: '' }, /invocationId/],
      [{ timeout: '5000' }, /timeout: expected milliseconds from 0/],
    ],
  ],
];

test.each(LIMITS.map((limits) => [limits[0].name, ...limits] as const))(
  '%s takes what its contract takes, and names the field that it refuses [client.invalid]',
  async (name, operation, given, cases) => {
    const taken: object[] = [];
    const call = direct({ [name]: async (input: never) => void taken.push(input) }, undefined);
    for (const [change, outcome] of cases) {
      const asked = call(operation, { ...given, ...change } as never, OPERATOR);
      if (outcome === 'taken') {
        await asked;
        expect(taken.pop()).toMatchObject({ ...given, ...change });
      } else {
        const error = await asked.catch((thrown: unknown) => thrown);
        const code = operation.invalid ?? 'HOLDFAST_INVALID_TURN';
        expect(error).toMatchObject({ code, message: expect.stringMatching(outcome) });
        expect(String(error)).not.toContain(SECRET);
      }
      expect(taken).toEqual([]);
    }
  },
);
