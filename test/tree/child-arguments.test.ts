import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callKeyOf } from '../../src/protocol/identity.ts';
import { checkedChild, isChild } from '../../workflows/turn/start.ts';
import { GateEnvironment } from '../setup/gate-environment.ts';

const RUN_KEY = `e-${'a'.repeat(22)}`;
const NAMES = { app: 'test', userId: 'ada', sessionId: 's' };
const CHILD = {
  rootWorkflowId: 'test/ada/s',
  runKey: RUN_KEY,
  plannedBy: 'e-root',
  agent: { name: 'below' },
  path: ['root', 'below'],
  invocationId: 'e-root',
  fence: { startedAt: 1, invocation: 1 },
  seq: 0,
};
const CALL = { session: 's', runKey: 'e-root', callKey: callKeyOf('e-root', 1, 0), callId: 'c', tool: 't' };
const INFO = {
  workflowId: `test/ada/s/${RUN_KEY}`,
  parent: { workflowId: 'test/ada/s', runId: 'r', namespace: 'default' },
};

const problemOf = (child: unknown, info: object = {}, names: object = {}) => {
  try {
    checkedChild({ ...NAMES, ...names, child } as never, { ...INFO, ...info } as never);
  } catch (error) {
    if (!(error instanceof ApplicationFailure)) throw error;
    return `${error.type}: ${error.message}`;
  }
  return 'none';
};

describe('start arguments of an agent below another one [tree.requests]', () => {
  test('are taken from the workflow above it', () => {
    expect(problemOf(CHILD)).toBe('none');
    expect(problemOf(CHILD, { parent: { ...INFO.parent, workflowId: 'test/ada/s/e-other' } })).toBe('none');
    const { plannedBy: _plannedBy, ...called } = CHILD;
    expect(problemOf({ ...called, call: { ...CALL, args: { value: {} } } })).toBe('none');
    expect(isChild({ ...NAMES, child: null } as never)).toBe(false);
  });

  test.each([
    ['child', 3],
    ['child.rootWorkflowId', { ...CHILD, rootWorkflowId: undefined }],
    ['child.rootWorkflowId', { ...CHILD, rootWorkflowId: 'test/eve/s' }],
    ['child.runKey', { ...CHILD, runKey: 7 }],
    ['workflowId', { ...CHILD, runKey: 'e-other' }],
    ['child.invocationId', { ...CHILD, invocationId: '' }],
    ['child.agent', { ...CHILD, agent: 'below' }],
    ['child.agent.name', { ...CHILD, agent: {} }],
    ['child.agent.root', { ...CHILD, agent: { name: 'below', root: 1 } }],
    ['child.agent.within', { ...CHILD, agent: { name: 'below', within: 'x' } }],
    ['child.path', { ...CHILD, path: [] }],
    ['child.path[1]', { ...CHILD, path: ['root', 2] }],
    ['child.branch', { ...CHILD, branch: 2 }],
    ['child.fence', { ...CHILD, fence: undefined }],
    ['child.fence.startedAt', { ...CHILD, fence: { invocation: 1 } }],
    ['child.fence.invocation', { ...CHILD, fence: { startedAt: 1, invocation: '1' } }],
    ['child.seq', { ...CHILD, seq: null }],
    ['child.plannedBy', { ...CHILD, plannedBy: undefined }],
    ['child.session', { ...CHILD, session: 1 }],
    ['child.call', { ...CHILD, call: 'c' }],
    ['child.call.tool', { ...CHILD, call: { ...CALL, tool: '', args: {} } }],
    ['child.call.args', { ...CHILD, call: CALL }],
  ])('names what is wrong: %s', (field, child) => {
    expect(problemOf(child)).toMatch(`InvalidStart: agentTurn: ${field}: `);
  });

  test('are of its own tree: another one, or nobody above it, is refused', () => {
    expect(problemOf(CHILD, { parent: undefined })).toMatch('InvalidStart: agentTurn: child: ');
    expect(problemOf(CHILD, { parent: { ...INFO.parent, workflowId: 'test/ada/s2' } })).toMatch(
      'agentTurn: child.rootWorkflowId: the workflow that runs it',
    );
    expect(problemOf(CHILD, {}, { userId: 'eve' })).toMatch('agentTurn: child.rootWorkflowId: app, userId');
    expect(problemOf(CHILD, {}, { userId: '' })).toMatch('agentTurn: userId: ');
  });
});

describe('a client', () => {
  let environment: GateEnvironment;
  beforeAll(async () => {
    environment = await GateEnvironment.open();
  });
  afterAll(() => environment.close());

  test.each([
    ['child', CHILD, 'child: set by the workflow that runs an agent below its own'],
    ['child', 1, 'child: set by the workflow'],
    ['rootAgent', 1, 'rootAgent: expected a non-empty string'],
    ['rootAgent', '', 'rootAgent: expected a non-empty string'],
    [
      'rootAgent',
      'a\0',
      'rootAgent: expected a non-empty string of well-formed Unicode without NUL characters',
    ],
  ])('starts no turn with the %s %j [transfer.next]', async (field, value, problem) => {
    const turn = environment.turn([[]]);
    await turn.start({ [field]: value });
    await expect(turn.result()).rejects.toMatchObject({
      cause: { type: 'InvalidStart', message: expect.stringContaining(`agentTurn: ${problem}`) },
    });
  });

  test('may write null for none [transfer.next]', async () => {
    const turn = environment.turn([[{ tool: 'look' }]]);
    await turn.start({ child: null, rootAgent: null });
    expect((await turn.result()).status).toBe('completed');
  });
});
