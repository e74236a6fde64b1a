import { expect, test } from 'vitest';
import { take } from '../../src/contract/check.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import { type AgentTurn, checkedTurn } from '../../src/workflow/checked-turn.ts';

const TURN: AgentTurn = { app: 'shop', userId: 'ada', sessionId: 's-1', messageId: 'm-1', message: 'hi' };
const OWN_CALL = { tool: 'train', args: {} };

function deep(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = {};
  for (let level = 1; level < levels; level += 1) value = { value };
  return value;
}

const circle: { circle?: object } = {};
circle.circle = circle;

test.for<[string, object]>([
  ['a name of 1,000 characters', { userId: 'x'.repeat(1_000) }],
  ['a message id of 1,000 characters, each of which is two of UTF-16', { messageId: '😀'.repeat(1_000) }],
  ['as many bytes as a session takes', { message: 'x'.repeat(65_536 - '["",null]'.length) }],
  ['null where there is nothing', { agent: null, stateDelta: null }],
])('a turn of a workflow may have what a session takes: %s [flow.workflow]', ([_what, more]) => {
  const { start, workflowId } = checkedTurn({ ...TURN, ...more });
  expect(take(WORKFLOW_CHECKS.turnStart, start).problem).toBeUndefined();
  expect(workflowId).toMatch(/^shop\//);
});

test.for<[field: string, wrong: object]>([
  ['userId', { userId: '' }],
  ['sessionId', { sessionId: 'x'.repeat(1_001) }],
  ['app', { app: '\ud800' }],
  ['messageId', { messageId: 'a\0b' }],
  ['message', { message: ' ' }],
  ['message', { message: undefined }],
  ['message.role', { message: { role: 'model', parts: [{ text: 'hi' }] } }],
  ['message.parts', { message: { parts: [] } }],
  ['message', { message: { parts: [circle] } }],
  ['message', { message: { parts: [{ text: 'hi', much: 1n }] } }],
  ['message', { message: 'x'.repeat(70_000) }],
  ['stateDelta', { stateDelta: deep(102) }],
  ['stateDelta', { stateDelta: { 'temp:_holdfast_x': 1 } }],
  ['priority', { priority: 9 }],
  ['policy', { policy: 'rejekt' }],
  ['runConfig.customMetadata', { runConfig: { customMetadata: { much: 'x'.repeat(17_000) } } }],
])(
  'a turn of a workflow is refused by the contract, whose field is named: %s [flow.workflow]',
  ([field, wrong]) => {
    expect(() => checkedTurn({ ...TURN, ...wrong } as AgentTurn)).toThrow(
      expect.objectContaining({
        type: 'InvalidTurn',
        nonRetryable: true,
        message: expect.stringContaining(`runAgent: ${field}: `),
        details: [{ field }],
      }),
    );
  },
);

test.for<[field: string, args: Record<string, unknown>]>([
  ['ownCall', circle],
  ['ownCall', deep(102)],
  ['message', { much: 1n }],
  ['message', { much: 'x'.repeat(70_000) }],
])('so is a job whose arguments no workflow could be given: %s [flow.workflow]', ([field, args]) => {
  expect(() => checkedTurn(TURN, { ...OWN_CALL, args })).toThrow(
    expect.objectContaining({ type: 'InvalidTurn', message: expect.stringContaining(`train: ${field}: `) }),
  );
});
