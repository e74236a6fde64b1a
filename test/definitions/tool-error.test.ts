import { expect, test } from 'vitest';
import {
  InvalidArgumentsError,
  InvalidResultError,
  isToolError,
  ToolError,
  ToolExecutionError,
} from '../../src/tools/tool-error.ts';

test('ToolError: a failure that is tried again unless it says otherwise [tool.permanent]', () => {
  expect(new ToolError('x')).toMatchObject({ name: 'ToolError', code: 'TOOL_ERROR', retryable: true });
  const cause = new Error('why');
  expect(new ToolError('x', { code: 'DECLINED', retryable: false, cause })).toMatchObject({
    code: 'DECLINED',
    retryable: false,
    cause,
  });
});

test('invalid arguments and results are not tried again [tool.permanent]', () => {
  expect(new InvalidArgumentsError('x')).toMatchObject({
    code: 'HOLDFAST_INVALID_ARGUMENTS',
    retryable: false,
  });
  expect(new InvalidResultError('x')).toMatchObject({ code: 'HOLDFAST_INVALID_RESULT', retryable: false });
});

test('ToolExecutionError is as retryable as what was thrown [tool.permanent]', () => {
  const declined = new ToolError('no', { code: 'DECLINED', retryable: false });
  expect(new ToolExecutionError('x', declined)).toMatchObject({
    code: 'DECLINED',
    retryable: false,
    cause: declined,
  });
  expect(new ToolExecutionError('x', new Error('no'))).toMatchObject({
    code: 'HOLDFAST_TOOL_FAILED',
    retryable: true,
  });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(new ToolExecutionError('x', proxy).retryable).toBe(true);
});

test('isToolError knows errors of another copy of the package', () => {
  const foreign = Object.assign(new Error('x'), {
    [Symbol.for('holdfast.toolError')]: true,
    retryable: false,
  });
  expect(isToolError(foreign)).toBe(true);
  expect(isToolError(new InvalidArgumentsError('x'))).toBe(true);
  expect([new Error('x'), null, undefined, 'x', {}].some(isToolError)).toBe(false);
});
