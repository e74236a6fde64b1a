import type { TestCall, TestTurn } from './test-turn.ts';

/** The `this` of a matcher of Vitest and Jest. */
interface MatcherContext {
  equals(one: unknown, other: unknown): boolean;
  /** Shows asymmetric matchers too. */
  utils: { stringify(value: unknown): string };
}

interface MatcherAnswer {
  pass: boolean;
  message: () => string;
}

/** Of an `expect` that was extended by {@link holdfastMatchers}. */
export interface HoldfastMatchers<R = unknown> {
  /** The turn's model has called a tool, with these arguments where they are given; asymmetric matchers count. */
  toHaveCalled(tool: string, args?: unknown): R;
  /** The turn was completed with this text, or one that the pattern is found in. */
  toHaveAnswered(text: string | RegExp): R;
  /** The turn has failed, with this error code where it is given. */
  toHaveFailed(code?: string): R;
}

/**
 * Matchers for turns of a test environment, for `expect.extend` of Vitest and Jest.
 *
 * @example
 * expect.extend(holdfastMatchers);
 * expect(await env.run('refund A-1')).toHaveCalled('refund', { orderId: 'A-1', cents: expect.any(Number) });
 */
export const holdfastMatchers = {
  toHaveCalled(
    this: MatcherContext,
    turn: unknown,
    tool: string,
    ...expected: [args?: unknown]
  ): MatcherAnswer {
    const { calls } = turnOf(turn);
    const called = calls.filter((call) => call.tool === tool);
    const pass = called.some(({ args }) => expected.length === 0 || this.equals(args, expected[0]));
    const wanted = `call of ${tool}${expected.length === 0 ? '' : ` with ${this.utils.stringify(expected[0])}`}`;
    return { pass, message: () => `expected ${pass ? 'no' : 'a'} ${wanted}; it made ${made(calls)}` };
  },

  toHaveAnswered(this: MatcherContext, turn: unknown, expected: string | RegExp): MatcherAnswer {
    const { status, text } = turnOf(turn);
    // Of a global one, `test` would go on where it has stopped.
    const matches = typeof expected === 'string' ? text === expected : text.search(expected) !== -1;
    const pass = status === 'completed' && matches;
    const came = status === 'completed' ? `the answer ${shown(text)}` : end(turnOf(turn));
    const wanted = typeof expected === 'string' ? shown(expected) : String(expected);
    return {
      pass,
      message: () => `expected ${pass ? 'another answer than' : 'the answer'} ${wanted}; it came to ${came}`,
    };
  },

  toHaveFailed(this: MatcherContext, turn: unknown, code?: string): MatcherAnswer {
    const { status, error } = turnOf(turn);
    const pass = status === 'failed' && (code === undefined || error?.code === code);
    const came = end(turnOf(turn));
    return {
      pass,
      message: () =>
        `expected the turn ${pass ? 'not ' : ''}to fail${code ? ` with ${code}` : ''}; it came to ${came}`,
    };
  },
};

function end({ status, error }: TestTurn): string {
  return error === undefined ? status : `${status}: ${error.code}: ${error.message}`;
}

function turnOf(turn: unknown): TestTurn {
  if (typeof turn === 'object' && turn !== null && 'calls' in turn && 'invocationId' in turn)
    return turn as TestTurn;
  throw new TypeError('expected a turn of a test environment: what `await env.run(…)` gives');
}

function made(calls: readonly TestCall[]): string {
  return calls.length === 0
    ? 'no calls'
    : calls.map(({ tool, args }) => `${tool}(${shown(args)})`).join(', ');
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}
