import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import {
  BaseCodeExecutor,
  type CodeExecutionResult,
  type ExecuteCodeParams,
} from '../../src/code-executors/base-code-executor.ts';
import { BuiltInCodeExecutor } from '../../src/code-executors/built-in-code-executor.ts';
import { findCode, hasFailedTooOften } from '../../src/code-executors/code-parts.ts';
import { codeTool } from '../../src/code-executors/code-tool.ts';
import { UnsafeLocalCodeExecutor } from '../../src/code-executors/unsafe-local-code-executor.ts';
import type { Content, Part } from '../../src/events/content.ts';
import { buildRequest } from '../../src/flows/build-request.ts';
import { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { ContextInit, ToolCallRecord } from '../../src/tools/invocation-context.ts';
import { mediaOf } from '../../src/tools/media.ts';
import { refusal } from '../definitions/refusal.ts';
import { siteOf } from './request-scene.ts';

const base = { name: 'support', model: 'gemini-2.5-flash' };

class Sandbox extends BaseCodeExecutor {
  readonly ran: ExecuteCodeParams['codeExecutionInput'][] = [];
  readonly #result: unknown;

  constructor(result: unknown = { stdout: '5', stderr: '', outputFiles: [] }) {
    super();
    this.#result = result;
  }
  override async executeCode({ codeExecutionInput }: ExecuteCodeParams) {
    this.ran.push(codeExecutionInput);
    return this.#result as CodeExecutionResult;
  }
}

function contextOf(init: Partial<ContextInit> = {}): Context {
  const site = siteOf(new LlmAgent(base));
  const { invocation: _, ...rest } = { ...site.init, ...init };
  return new Context(rest);
}

const run = (executor: BaseCodeExecutor, args: Record<string, unknown>, init?: Partial<ContextInit>) =>
  codeTool(executor).runAsync({ args, toolContext: contextOf(init) });

describe("the provider's own executor [agent.codeExecutor]", () => {
  test('is asked of Gemini 2 and later, beside the tools', async () => {
    const find = tool({ name: 'find', description: '', execute: () => 1 });
    const agent = new LlmAgent({ ...base, codeExecutor: new BuiltInCodeExecutor(), tools: [find] });
    const { request } = await buildRequest(siteOf(agent));
    expect(request.config?.tools).toMatchObject([
      { codeExecution: {} },
      { functionDeclarations: [{ name: 'find' }] },
    ]);
  });

  test.each(['gemini-1.5-pro', 'gemini-flash-latest'])('%s is refused', async (model) => {
    const agent = new LlmAgent({ ...base, model, codeExecutor: new BuiltInCodeExecutor() });
    await expect(buildRequest(siteOf(agent))).rejects.toThrow(
      `Gemini code execution tool is not supported for model ${model}`,
    );
  });
});

describe('code of a model [agent.codeExecutor]', () => {
  const executor = new Sandbox();
  const code = (text: string): Part => ({ executableCode: { code: text, language: 'PYTHON' as never } });
  const result: Part = { codeExecutionResult: { outcome: 'OUTCOME_OK' as never, output: '5' } };

  test('is a part without a result behind it; what follows is left out', () => {
    expect(findCode(executor, [code('1'), result, { text: 'a' }, code('2'), { text: 'I guess 3' }])).toEqual({
      parts: [code('1'), result, { text: 'a' }, code('2')],
      code: { code: '2', language: 'PYTHON' },
    });
    expect(findCode(executor, [code('1'), result])).toBeUndefined();
  });

  test.each([
    ['```python\nprint(1)\n```', 'print(1)', 'python', 'PYTHON'],
    ['```tool_code\nprint(1)\n```', 'print(1)', 'python', 'PYTHON'],
    ['```javascript\n1\n```', '1', 'javascript', 'LANGUAGE_UNSPECIFIED'],
    ['```bash\nls\n```', 'ls', 'shell', 'LANGUAGE_UNSPECIFIED'],
    ['```sh\nls\n```', 'ls', 'shell', 'LANGUAGE_UNSPECIFIED'],
  ])('is the first block of %j', (block, written, language, stored) => {
    expect(findCode(executor, [{ text: `Let me see:\n${block}\nSo it is ${block}.` }])).toEqual({
      parts: [{ text: 'Let me see:\n' }, { executableCode: { code: written, language: stored } }],
      code: { code: written, language },
    });
  });

  test.each(['no code', '```python\nnever closed', '```python\n\n```', '```rust\n1\n```'])(
    'is not in %j',
    (text) => {
      expect(findCode(executor, [{ text }, { text: '```python\n1\n```', thought: true }])).toBeUndefined();
    },
  );

  test('that a planner marks as a thought is run, and what the model has thought is not', () => {
    const thought = { text: '```python\n1\n```', thought: true };
    const plan = { text: 'Plan:\n```python\n2\n```', thought: true };
    expect(findCode(executor, [thought, plan], (part) => part === thought)).toEqual({
      parts: [
        thought,
        { text: 'Plan:\n', thought: true },
        { executableCode: { code: '2', language: 'PYTHON' } },
      ],
      code: { code: '2', language: 'python' },
    });
  });

  test('and its results are sent back as text, those of the provider as they are', async () => {
    const contents: Content[] = [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: [{ text: 'See:' }, { ...code('1+4'), thoughtSignature: 'AA==' }] },
      { role: 'model', parts: [result] },
      { role: 'model', parts: [code('2'), result, { text: 'so' }] },
    ];
    const agent = new LlmAgent({ ...base, codeExecutor: executor });
    const { request } = await buildRequest(siteOf(agent, { contents }));
    expect(request.contents).toEqual([
      contents[0],
      {
        role: 'model',
        parts: [{ text: 'See:' }, { text: '```tool_code\n1+4\n```', thoughtSignature: 'AA==' }],
      },
      { role: 'user', parts: [{ text: '```tool_output\n5\n```' }] },
      contents[3],
    ]);
  });

  test('is not run again once it has failed too often in a row', () => {
    const record = (outcome: string, callId = ''): ToolCallRecord => ({
      ...{ callKey: 'k', name: 'Sandbox', agent: 'support', args: {}, failed: false, step: 1 },
      callId,
      response: { outcome },
    });
    const [ok, failed] = [record('OUTCOME_OK'), record('OUTCOME_FAILED')];
    expect(hasFailedTooOften(executor, [])).toBe(false);
    expect(hasFailedTooOften(executor, [failed, failed])).toBe(true);
    expect(hasFailedTooOften(executor, [failed, ok, failed])).toBe(false);
    expect(hasFailedTooOften(executor, [failed, record('x', 'adk-1'), failed])).toBe(true);
  });
});

describe('the tool that runs code [agent.codeExecutor]', () => {
  test('has the name and the durable options of its executor', () => {
    class Slow extends Sandbox {
      override get name() {
        return 'slow_code';
      }
      override get durableOptions() {
        return { idempotent: true, timeout: '1m' as const };
      }
    }
    expect(codeTool(new Sandbox())).toMatchObject({
      name: 'Sandbox',
      durable: { idempotent: false, onUnknownOutcome: 'fail' },
    });
    expect(codeTool(new Slow())).toMatchObject({
      name: 'slow_code',
      durable: { idempotent: true, timeout: 60_000 },
    });
    expect(codeTool(new Sandbox())._getDeclaration()).toBeUndefined();
  });

  test.each([
    ['PYTHON', 'python'],
    ['LANGUAGE_UNSPECIFIED', 'python'],
    [undefined, 'python'],
    ['javascript', 'javascript'],
    ['shell', 'shell'],
  ])('runs %s as %s', async (language, expected) => {
    const executor = new Sandbox();
    executor.stateful = expected === 'shell';
    expect(await run(executor, { code: '1', language })).toEqual({
      outcome: 'OUTCOME_OK',
      output: 'Code execution result:\n5\n',
    });
    expect(executor.ran).toEqual([
      { code: '1', language: expected, inputFiles: [], ...(executor.stateful ? { executionId: 's1' } : {}) },
    ]);
  });

  test('what is said on stderr is a failure; files are sent behind the response', async () => {
    expect(await run(new Sandbox({ stdout: '', stderr: 'boom', outputFiles: [] }), { code: '' })).toEqual({
      outcome: 'OUTCOME_FAILED',
      output: 'boom',
    });
    const outputFiles = [
      { name: 'a.csv', content: 'x,y', mimeType: 'text/csv' },
      { name: 'b.png', content: 'AAEC', contentEncoding: 'base64', mimeType: 'image/png' },
      { name: 'c.zip', content: 'AAEC', contentEncoding: 'base64', mimeType: 'application/zip' },
    ];
    const result = await run(new Sandbox({ stdout: '', stderr: '', outputFiles }), { code: '' });
    expect(mediaOf(result)).toEqual({
      response: {
        outcome: 'OUTCOME_OK',
        output: "Files:\na.csv, b.png\n\nFiles that can't be shown:\nc.zip",
      },
      parts: [
        { inlineData: { mimeType: 'text/csv', data: Buffer.from('x,y').toString('base64') } },
        { inlineData: { mimeType: 'image/png', data: 'AAEC' } },
      ],
    });
  });

  test.each([undefined, 'five', { stdout: 5 }])('an executor that returns %j is named', async (result) => {
    await expect(run(new Sandbox(result ?? null), { code: '' })).rejects.toThrow(
      'the code executor Sandbox must return { stdout, stderr, outputFiles }',
    );
  });
});

describe('running code on this machine [agent.codeExecutor]', () => {
  const local = new UnsafeLocalCodeExecutor();
  const execute = (code: string, language: string, init?: Partial<ContextInit>, executor = local) =>
    executor.executeCode({
      invocationContext: contextOf(init).invocationContext,
      codeExecutionInput: { code, language: language as never, inputFiles: [] },
    });

  test('gives what JavaScript, TypeScript and shell write', async () => {
    expect(await execute('console.log(1 + 4)', 'javascript')).toEqual({
      stdout: '5\n',
      stderr: '',
      outputFiles: [],
    });
    expect((await execute('const a: number = 5; console.log(a)', 'typescript')).stdout).toBe('5\n');
    expect((await execute('echo $((1 + 4))', 'shell')).stdout).toBe('5\n');
    expect((await execute('', 'cmd')).stderr).toBe('Unsupported language: cmd');
  });

  test.each([
    ['CommonJS', 'javascript', 'console.log(typeof require("node:fs").readFileSync)'],
    ['an ES module', 'javascript', 'import fs from "node:fs"; console.log(await typeof fs.readFileSync)'],
    ['CommonJS', 'typescript', 'const fs: unknown = require("node:fs"); console.log(typeof fs.readFileSync)'],
    [
      'an ES module',
      'typescript',
      'import fs from "node:fs"; console.log(typeof (fs.readFileSync as unknown))',
    ],
  ])('runs %s in %s', async (_, language, code) => {
    expect(await execute(code, language)).toEqual({ stdout: 'function\n', stderr: '', outputFiles: [] });
  });

  test('the code knows no variable of the worker, and its files are what it wrote', async () => {
    process.env.HOLDFAST_TEST_SECRET = 'hush';
    const { stdout, outputFiles } = await execute(
      'env | cut -d= -f1 | sort; pwd; mkdir sub; printf x > sub/a.csv; ln -s /etc/passwd link; ln -s / all; ln -s . loop',
      'shell',
    );
    const lines = stdout.trim().split('\n');
    const directory = String(lines.pop());
    // The shell adds its own.
    const added = new Set(['PWD', 'OLDPWD', 'SHLVL', '_']);
    expect(['PATH', 'HOME', 'LANG', 'TMPDIR']).toEqual(
      expect.arrayContaining(lines.filter((name) => !added.has(name))),
    );
    expect(outputFiles).toEqual([
      { name: 'sub/a.csv', content: 'x', contentEncoding: 'utf-8', mimeType: 'text/csv' },
    ]);
    expect(existsSync(directory)).toBe(false);
    delete process.env.HOLDFAST_TEST_SECRET;
  });

  test('what it has made unreadable is left out, its directory, too', async () => {
    const { stdout, outputFiles } = await execute("printf x > a.txt; printf x > $'\\xff.txt'", 'shell');
    expect(outputFiles.map(({ name }) => name)).toEqual(['a.txt']);
    expect(stdout).toMatch(/^\nNot sent \(too large, too many, or unreadable\): /);
    expect(await execute('rm -r "$PWD"; echo gone', 'shell')).toEqual({
      stdout: 'gone\n',
      stderr: '',
      outputFiles: [],
    });
  });

  test('is told how code has failed, and its output is bounded', async () => {
    expect((await execute('exit 3', 'shell')).stderr).toBe('Exit code 3');
    expect((await execute('echo no >&2; exit 3', 'shell')).stderr).toBe('no\n');
    expect((await execute('kill -9 $$', 'shell')).stderr).toBe('Ended by SIGKILL');
    const missing = new UnsafeLocalCodeExecutor({ pythonCommandPath: '/nowhere/python' });
    expect((await execute('1', 'python', {}, missing)).stderr).toContain(
      'Process error: spawn /nowhere/python',
    );
    const { stdout } = await execute('console.log("x".repeat(400_000))', 'javascript');
    expect(stdout).toBe(`${'x'.repeat(256 * 1024)}\n… cut after 262144 bytes\n`);
  });

  test('ends with all that it has started: at its timeout, with its own end, when it is cancelled', async () => {
    const quick = new UnsafeLocalCodeExecutor({ timeoutSeconds: 0.3 });
    // Whatever still runs would hold the output open, and nothing of this would ever end.
    const { stderr } = await execute('sleep 600 & sleep 600', 'shell', {}, quick);
    expect(stderr).toBe('\nCode execution timed out after 0.3 seconds.');
    expect((await execute('sleep 600 & echo left', 'shell')).stdout).toBe('left\n');

    // What has left the group can't be ended, and isn't waited for.
    const left = await execute('setsid sleep 20; echo no', 'shell', {}, quick);
    expect(left).toMatchObject({ stdout: '', stderr });

    const cancelled = new AbortController();
    const running = execute('sleep 600', 'shell', { abortSignal: cancelled.signal });
    cancelled.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
  });

  test.each<[object, string]>([
    [{ timeoutSeconds: 1e9 }, 'UnsafeLocalCodeExecutor: timeoutSeconds: expected at most 2147483'],
    [{ pythonPath: 'x' }, 'UnsafeLocalCodeExecutor: pythonPath: unknown option'],
  ])('%j is refused', (options, message) => {
    expect(refusal(() => new UnsafeLocalCodeExecutor(options as never)).message).toContain(message);
  });
});
