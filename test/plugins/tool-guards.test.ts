import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { RepetitionGuardPlugin } from '../../src/plugins/repetition-guard-plugin.ts';
import { ToolAuditPlugin, type ToolAuditRecord } from '../../src/plugins/tool-audit-plugin.ts';
import { REFLECT_AND_RETRY_RESPONSE_TYPE } from '../../src/plugins/withheld.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { type ToolCallRecord, TranscriptNotLoaded } from '../../src/tools/invocation-context.ts';
import { OwnModel } from '../setup/own-model.ts';
import {
  callContextOf,
  charge,
  contextOf,
  discreet,
  findOrder,
  readVault,
  recordOf,
} from './plugin-scene.ts';

describe('RepetitionGuardPlugin', () => {
  const asked = (
    calls: readonly ToolCallRecord[],
    toolArgs: Record<string, unknown>,
    plugin = new RepetitionGuardPlugin(),
    called: BaseTool = findOrder,
  ) => plugin.beforeToolCallback({ tool: called, toolArgs, toolContext: callContextOf('c9', { calls }) });
  const same = (count: number, args: Record<string, unknown> = { id: 1, of: ['a'] }) =>
    Array.from({ length: count }, () => recordOf(findOrder, args));

  test('the same call in a row is answered with an error once it has run often enough [plugin.guard] [tool.turnCalls]', async () => {
    expect(await asked([], { id: 1, of: ['a'] })).toBeUndefined();
    expect(await asked(same(2), { id: 1, of: ['a'] })).toBeUndefined();
    expect(await asked(same(3), { of: ['a'], id: 1 })).toEqual({
      error: expect.stringMatching(/was not run: `find_order` has already been called 3 times in a row/),
    });
    expect(await asked(same(3), { id: 2, of: ['a'] })).toBeUndefined();
    expect(await asked(same(3), { id: 1, of: ['a'] }, undefined, charge)).toBeUndefined();
    expect(await asked([...same(3), recordOf(charge, {})], { id: 1, of: ['a'] })).toBeUndefined();
  });

  test('a call that was refused counts too, so that the loop stays ended', async () => {
    const refused = recordOf(
      findOrder,
      { id: 1, of: ['a'] },
      { failed: true, response: { error: 'was not run' } },
    );
    expect(await asked([...same(3), refused], { id: 1, of: ['a'] })).toMatchObject({
      error: expect.stringContaining('4 times'),
    });
  });

  test('it refuses exactly the calls behind a row of equal ones', async () => {
    const calls = fc.array(fc.constantFrom('a', 'b'), { maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(calls, fc.integer({ min: 1, max: 4 }), async (ids, maxInARow) => {
        const plugin = new RepetitionGuardPlugin({ maxInARow });
        const before = ids.map((id) => recordOf(findOrder, { id }));
        const row = ids.length - 1 - ids.findLastIndex((id) => id !== 'a');
        expect((await asked(before, { id: 'a' }, plugin)) !== undefined).toBe(row >= maxInARow);
      }),
      { numRuns: 100 },
    );
  });

  test('tools that may repeat are left alone', async () => {
    const plugin = new RepetitionGuardPlugin({ maxInARow: 1, except: ['find_order'] });
    expect(await asked(same(9), { id: 1, of: ['a'] }, plugin)).toBeUndefined();
  });

  test('arguments that a callback has made, and no model, are no repetition', async () => {
    const plugin = new RepetitionGuardPlugin({ maxInARow: 1 });
    expect(await asked(same(3), { id: 1n }, plugin)).toBeUndefined();
  });

  test('without a transcript it says so, and wrong options are refused', async () => {
    const toolContext = callContextOf('c1', { hasTranscript: false });
    await expect(
      new RepetitionGuardPlugin().beforeToolCallback({ tool: findOrder, toolArgs: {}, toolContext }),
    ).rejects.toThrow(TranscriptNotLoaded);
    expect(() => new RepetitionGuardPlugin({ maxInARow: 0 })).toThrow(
      'RepetitionGuardPlugin: maxInARow: expected a whole number, 1 or more',
    );
    expect(() => new RepetitionGuardPlugin({ except: [findOrder as unknown as string] })).toThrow(
      'except[0]: expected the name of a tool, got object',
    );
    expect(() => new RepetitionGuardPlugin({ except: 'find_order' as unknown as string[] })).toThrow(
      "except: expected a list of tools' names, got string",
    );
  });
});

describe('ToolAuditPlugin', () => {
  async function audited(call: ToolCallRecord, init: Parameters<typeof contextOf>[0] = {}) {
    const records: ToolAuditRecord[] = [];
    const plugin = new ToolAuditPlugin((record) => records.push(record));
    await plugin.onToolCallCompleted({ call, callbackContext: contextOf(init) });
    return records[0];
  }

  test('a record says whose call it was, what it got and what came of it [plugin.audit] [tool.turnCalls]', async () => {
    expect(await audited(recordOf(findOrder, { id: 'A-1' }, { step: 2 }))).toEqual({
      callKey: 'e-1.2.0',
      callId: 'c1',
      tool: 'find_order',
      agent: 'support',
      app: 'shop',
      userId: 'ada',
      sessionId: 's1',
      invocationId: 'e-1',
      step: 2,
      failed: false,
      args: { id: 'A-1' },
      response: { ok: true },
    });
  });

  test('nothing of sensitive tools and agents is written, nor of tools that nobody knows [plugin.audit]', async () => {
    expect(await audited(recordOf(charge, { amount: 5, card: '4111' }))).toMatchObject({
      args: { amount: 5, card: '(sensitive)' },
      response: { ok: true },
    });
    const withheld = [
      await audited(recordOf(readVault, { key: 'tulip' }, { response: { secret: 'tulip' } })),
      await audited(recordOf(findOrder, { key: 'tulip' }, { agent: 'discreet' }), { agent: discreet }),
      await audited(recordOf({ name: 'gone' }, { key: 'tulip' })),
    ];
    for (const record of withheld) {
      expect(record).toMatchObject({ callKey: 'e-1.1.0', failed: false });
      expect(Object.keys(record ?? {})).not.toEqual(expect.arrayContaining(['args']));
      expect(JSON.stringify(record)).not.toContain('tulip');
    }
    const failed = await audited(
      recordOf(charge, { amount: 5 }, { failed: true, response: { error: 'visa-4111?' } }),
    );
    expect(JSON.stringify(failed)).not.toContain('visa');
    const answered = { response_type: REFLECT_AND_RETRY_RESPONSE_TYPE, error_details: '4-1-1-1?' };
    for (const response of [answered, { error: '4-1-1-1?', hint: 'another card' }]) {
      const record = await audited(recordOf(charge, { amount: 5, card: '4111' }, { response }));
      expect(record).toMatchObject({ args: { amount: 5, card: '(sensitive)' }, failed: false });
      expect(Object.keys(record ?? {})).not.toContain('response');
    }
    const quoting = { sorry: 'no money on 4111' };
    expect(await audited(recordOf(charge, { amount: 5, card: '4111' }, { response: quoting }))).toMatchObject(
      {
        response: { sorry: 'no money on (sensitive)' },
      },
    );
  });

  test('tools of a toolset are known by it; one that fails makes its calls sensitive', async () => {
    class Shelf extends BaseToolset {
      fails = false;
      override async getTools() {
        if (this.fails) throw new Error('the shelf is away');
        return [tool({ name: 'open_book', description: 'opens', execute: () => ({}) })];
      }
      override async close() {}
    }
    const shelf = new Shelf();
    const agent = new LlmAgent({ name: 'reader', model: new OwnModel(), tools: [shelf] });
    const call = recordOf({ name: 'open_book' }, { page: 7 }, { agent: 'reader' });
    expect(await audited(call, { agent })).toMatchObject({ args: { page: 7 } });
    shelf.fails = true;
    expect(Object.keys((await audited(call, { agent })) ?? {})).not.toContain('args');
  });

  test('a sink that fails is asked again with the same record, three times at most', async () => {
    const call = recordOf(findOrder, { id: 'A-1' });
    const seen: ToolAuditRecord[] = [];
    const failing = (times: number) =>
      new ToolAuditPlugin(async (record) => {
        seen.push(structuredClone(record));
        record.args = {};
        if (seen.length <= times) throw new Error('away');
      });
    const tell = (plugin: ToolAuditPlugin) =>
      plugin.onToolCallCompleted({ call, callbackContext: contextOf() });
    await tell(failing(2));
    expect(seen).toHaveLength(3);
    expect(seen[2]).toEqual(seen[0]);
    await expect(tell(failing(9))).rejects.toThrow('away');
    expect(seen).toHaveLength(6);
  });

  test('what is no sink is refused', () => {
    expect(() => new ToolAuditPlugin(undefined as never)).toThrow(
      'ToolAuditPlugin: write: expected a function that gets each record, got undefined',
    );
  });
});
