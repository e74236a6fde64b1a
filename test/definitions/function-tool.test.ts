import { Type } from '@google/genai';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { BaseTool, isBaseTool, type RunAsyncToolRequest } from '../../src/tools/base-tool.ts';
import { Context } from '../../src/tools/context.ts';
import { FunctionTool, isFunctionTool, tool } from '../../src/tools/function-tool.ts';
import {
  InvalidArgumentsError,
  InvalidResultError,
  ToolError,
  ToolExecutionError,
} from '../../src/tools/tool-error.ts';
import { refusal } from './refusal.ts';

const toolContext = new Context({
  appName: 'shop',
  userId: 'ada',
  sessionId: 's1',
  invocationId: 'e-1',
  agentName: 'support',
  state: {},
});

const run = (of: BaseTool, args: unknown = {}) =>
  of.runAsync({ args: args as Record<string, unknown>, toolContext });

async function failure(of: BaseTool, args: unknown = {}): Promise<ToolError> {
  return run(of, args).then(
    () => {
      throw new Error('did not fail');
    },
    (error) => error,
  );
}

describe('declaration [tool.declare]', () => {
  test('parameters and result as JSON Schema', () => {
    const weather = tool({
      name: 'weather',
      description: 'Tells the weather.',
      parameters: z.object({ city: z.string() }),
      outputSchema: z.object({ celsius: z.number() }),
      execute: () => ({ celsius: 21 }),
    });
    expect(weather._getDeclaration()).toEqual({
      name: 'weather',
      description: 'Tells the weather.',
      parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      responseJsonSchema: {
        type: 'object',
        properties: { celsius: { type: 'number' } },
        required: ['celsius'],
        additionalProperties: false,
      },
    });
  });

  test('a tool without parameters takes an empty object', () => {
    const ping = tool({ name: 'ping', description: '', execute: () => 'pong' });
    expect(ping._getDeclaration()).toEqual({
      name: 'ping',
      description: '',
      parametersJsonSchema: { type: 'object', properties: {} },
    });
  });

  test('results that are no objects are declared as they are sent', () => {
    const list = tool({
      name: 'l',
      description: '',
      outputSchema: z.array(z.string()),
      execute: () => ['a'],
    });
    expect(list._getDeclaration().responseJsonSchema).toEqual({
      type: 'object',
      properties: { result: { type: 'array', items: { type: 'string' } } },
      required: ['result'],
    });
    const recursive = { type: 'array', items: { $ref: '#' } };
    const tree = tool({ name: 't', description: '', outputSchema: recursive, execute: () => [[]] });
    expect(tree._getDeclaration().responseJsonSchema).toMatchObject({
      properties: { result: { type: 'array', items: { $ref: '#/$defs/root' } } },
      $defs: { root: { type: 'array' } },
    });
  });

  test('a name defaults to that of the function', () => {
    async function refund() {}
    const refunds = new FunctionTool({ description: '', execute: refund });
    expect(refunds.name).toBe('refund');
  });

  test('is made anew each time, so that changing one changes no other', () => {
    const ping = tool({ name: 'ping', description: '', execute: () => 1 });
    delete ping._getDeclaration().parametersJsonSchema;
    expect(ping._getDeclaration().parametersJsonSchema).toMatchObject({ type: 'object' });
  });
});

describe.each<[string, FunctionTool<never, never>]>(
  [
    ['zod 4', z.object({ n: z.number() })],
    ['zod 3', z3.object({ n: z3.number() })],
    ['JSON Schema', { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }],
    ["provider's Schema", { type: Type.OBJECT, properties: { n: { type: Type.NUMBER } }, required: ['n'] }],
  ].map(([kind, parameters]) => [
    kind as string,
    new FunctionTool({
      name: 'double',
      description: '',
      parameters: parameters as object,
      execute: (args) => ({ twice: (args as { n: number }).n * 2 }),
    }) as never,
  ]),
)('arguments by %s [tool.arguments]', (_, double) => {
  test('valid ones reach the function', async () =>
    expect(await run(double, { n: 4 })).toEqual({ twice: 8 }));

  test('wrong ones do not', async () => {
    const error = await failure(double, { n: 's3cret' });
    expect(error).toBeInstanceOf(InvalidArgumentsError);
    expect(error).toMatchObject({
      message: `Error in tool 'double': invalid arguments: n: expected number, got string`,
      retryable: false,
    });
  });

  test("missing ones get ADK's text", async () => {
    expect((await failure(double)).message).toBe(
      'Invoking `double()` failed as the following mandatory input parameters are not present:\nn\n' +
        'You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters.',
    );
  });

  test.each([[null], [[]], ['n'], [7]])('%j is no object', async (args) => {
    expect((await failure(double, args)).message).toContain('invalid arguments: expected object, got');
  });
});

describe('running [tool.infer]', () => {
  test('the function gets what the schema makes of the arguments, and the context', async () => {
    const execute = vi.fn();
    await run(
      tool({ name: 't', description: '', parameters: z.object({ n: z.number().default(3) }), execute }),
    );
    expect(execute).toHaveBeenCalledWith({ n: 3 }, toolContext);
  });

  test('without parameters it gets what the model sent', async () => {
    const echo = tool({ name: 't', description: '', execute: (args) => args });
    expect(await run(echo, { any: 1 })).toEqual({ any: 1 });
  });

  const failures: [string, unknown, string][] = [
    ['error', new Error('no stock'), 'no stock'],
    ['string', 'broken', 'broken'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['object', { code: 7 }, 'object without a message'],
    ['tool error', new ToolError('declined', { retryable: false, code: 'DECLINED' }), 'declined'],
  ];
  test.each(failures)('a thrown %s [tool.throws]', async (_, thrown, text) => {
    const execute = () => {
      throw thrown;
    };
    const error = await failure(tool({ name: 'pay', description: '', execute }));
    expect(error).toBeInstanceOf(ToolExecutionError);
    expect(error.message).toBe(`Error in tool 'pay': ${text}`);
    expect(error.cause).toBe(thrown);
    expect(error.retryable).toBe(!(thrown instanceof ToolError));
    const rejecting = tool({ name: 'pay', description: '', execute: () => Promise.reject(thrown) });
    expect((await failure(rejecting)).message).toBe(error.message);
  });

  test('a refinement that throws is a failure, not a wrong argument', async () => {
    const parameters = z.object({
      id: z.string().refine(async () => {
        throw new Error('database down');
      }),
    });
    const error = await failure(tool({ name: 't', description: '', parameters, execute: () => 1 }), {
      id: 'x',
    });
    expect(error).toMatchObject({ message: `Error in tool 't': database down`, retryable: true });
  });
});

describe('results [tool.output]', () => {
  test('are checked against the output schema', async () => {
    const execute = () => ({ items: [{ qty: 's3cret' as unknown as number }] });
    const outputSchema = z.object({ items: z.array(z.object({ qty: z.number() })) });
    const error = await failure(tool({ name: 't', description: '', outputSchema, execute }));
    expect(error).toBeInstanceOf(InvalidResultError);
    expect(error).toMatchObject({
      message: `Error in tool 't': the result doesn't match outputSchema: items[0].qty: expected number, got string`,
      retryable: false,
    });
  });

  test('are what zod makes of them', async () => {
    const outputSchema = z.object({ at: z.date(), n: z.number().default(1) });
    const clock = tool({
      name: 't',
      description: '',
      outputSchema,
      execute: () => ({ at: new Date(0), more: 1 }),
    });
    expect(await run(clock)).toEqual({ at: new Date(0), n: 1 });
  });

  test('are checked as JSON by a JSON Schema', async () => {
    const outputSchema = { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } };
    const execute = (): object => ({ at: new Date(0) });
    expect(await run(tool({ name: 't', description: '', outputSchema, execute }))).toEqual({
      at: '1970-01-01T00:00:00.000Z',
    });
    const bigints = tool({ name: 't', description: '', outputSchema, execute: (): object => ({ at: 1n }) });
    expect(await failure(bigints)).toBeInstanceOf(InvalidResultError);
  });

  test('nothing where something is wanted', async () => {
    const outputSchema = z.object({ a: z.string() });
    const nothing = tool({ name: 't', description: '', outputSchema, execute: () => undefined as never });
    expect((await failure(nothing)).message).toContain(
      `doesn't match outputSchema: expected object, got undefined`,
    );
  });
});

describe('refuses, naming the field [define.refuse]', () => {
  const good = { name: 'pay', description: 'Pays.', execute: () => 1 };
  test('without execute is declared, as on ADK, and a call says what is missing', async () => {
    const declaredOnly = new FunctionTool({ name: 'pay', description: '' } as never);
    expect(declaredOnly._getDeclaration().name).toBe('pay');
    await expect(run(declaredOnly)).rejects.toMatchObject({
      message: "Error in tool 'pay': execute: expected a function that runs the call, got undefined",
      retryable: false,
    });
  });

  test.each<[string, object, string]>([
    ['no options', undefined as never, 'FunctionTool: expected an object, got undefined'],
    ['a list', [] as never, 'FunctionTool: expected an object, got array'],
    [
      'no name',
      {
        description: '',
        execute: (
          () => () =>
            1
        )(),
      },
      'FunctionTool: name: Tool name cannot be empty. Either name the `execute` function or provide a `name`.',
    ],
    ['an empty name', { ...good, name: '' }, 'FunctionTool: name: Tool name cannot be empty.'],
    ['no name of text', { ...good, name: 7 }, 'FunctionTool: name: expected a string, got number'],
    [
      'spaces in it',
      { ...good, name: 'pay out' },
      'FunctionTool: name: must start with a letter or an underscore',
    ],
    [
      'a digit first',
      { ...good, name: '1pay' },
      'FunctionTool: name: must start with a letter or an underscore',
    ],
    [
      'a long name',
      { ...good, name: 'x'.repeat(129) },
      'FunctionTool: name: must have at most 128 characters, has 129',
    ],
    ['ours', { ...good, name: 'holdfast.callModel' }, 'FunctionTool: name: must not start with "holdfast."'],
    ["Temporal's", { ...good, name: '__temporal_x' }, 'FunctionTool: name: must not start with "__temporal"'],
    [
      "ADK's",
      { ...good, name: 'adk_request_input' },
      'FunctionTool: name: must not start with "adk_request_"',
    ],
    ['__proto__', { ...good, name: '__proto__' }, 'FunctionTool: name: JavaScript gives this name a meaning'],
    ['no description', { name: 'pay', execute: () => 1 }, 'FunctionTool "pay": description: required'],
    [
      'no function',
      { name: 'pay', description: '', execute: 'pay' },
      'FunctionTool "pay": execute: expected a function, got string',
    ],
    [
      'other options',
      { ...good, parameter: {} },
      'FunctionTool "pay": parameter: unknown option; did you mean "parameters"?',
    ],
    ['no schema', { ...good, parameters: 'x' }, 'FunctionTool "pay": parameters: expected a schema'],
    [
      'no object',
      { ...good, parameters: z.string() },
      'FunctionTool "pay": parameters: the root must be an object',
    ],
    ['no schema', { ...good, outputSchema: [] }, 'FunctionTool "pay": outputSchema: expected a schema'],
    [
      'sensitive arguments that are none',
      { ...good, parameters: z.object({ card: z.string() }), sensitive: ['result', 'crad'] },
      'FunctionTool "pay": sensitive[1]: no argument has the name "crad"; did you mean "card"?',
    ],
  ])('%s', (_, options, message) => {
    expect(refusal(() => new FunctionTool(options as never)).message).toContain(message);
  });

  test('names that are fine', () => {
    for (const name of [
      'default',
      'a',
      '_x',
      'Shop.pay-out:v2',
      'constructor',
      'x'.repeat(128),
      'holdfast',
    ]) {
      expect(tool({ ...good, name }).name).toBe(name);
    }
  });

  test('sensitive names of open parameters are taken', () => {
    const parameters = z.record(z.string(), z.string());
    expect(tool({ ...good, parameters, sensitive: ['any'] }).durable.sensitive).toEqual(['any']);
    expect(tool({ ...good, sensitive: true }).durable.sensitive).toBe(true);
  });
});

describe('BaseTool [tool.base]', () => {
  class Clock extends BaseTool {
    constructor(params: object = {}) {
      super({ name: 'clock', description: 'Tells the time.', ...params });
    }
    override async runAsync({ toolContext }: RunAsyncToolRequest) {
      return toolContext.agentName;
    }
  }

  test('has name, description, durable options, and no declaration of its own', async () => {
    const clock = new Clock({ timeout: '5s' });
    expect(clock).toMatchObject({ name: 'clock', isLongRunning: false, durable: { timeout: 5_000 } });
    expect(clock._getDeclaration()).toBeUndefined();
    expect(await run(clock)).toBe('support');
  });

  test('errors name the class', () => {
    expect(refusal(() => new Clock({ name: 'holdfast.x' })).message).toMatch(/^Clock: name: /);
    expect(refusal(() => new Clock({ timeout: 0 })).message).toBe(
      'Clock "clock": timeout: must be longer than 0, got 0',
    );
  });

  test('errors repeat what was given, where it is short and no secret', () => {
    const long = `look up ${'x'.repeat(200)}`;
    for (const [options, end] of [
      [{ name: 'look up' }, '_ . : or -, got "look up"'],
      [{ name: long.slice(0, 61) }, `got "${long.slice(0, 60)}…"`],
      [{ timeout: 'soon' }, '\'5 minutes\', got "soon"'],
      [{ timeout: true }, 'got boolean true'],
      [{ execution: 'remote\u202e' }, 'got "remote\\u202e"'],
    ] as const) {
      const { message, problem } = refusal(() => new Clock(options as never));
      expect(message.slice(-end.length)).toBe(end);
      expect(problem).not.toContain('"');
    }
  });

  test('is known across copies of the package', () => {
    const copy = { [Symbol.for('holdfast.baseTool')]: true, [Symbol.for('holdfast.functionTool')]: true };
    expect([new Clock(), copy].every(isBaseTool)).toBe(true);
    expect(isFunctionTool(copy)).toBe(true);
    expect(isFunctionTool(new Clock())).toBe(false);
    expect([null, undefined, {}, 'x', () => 1].some(isBaseTool)).toBe(false);
  });
});
