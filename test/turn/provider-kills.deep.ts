import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { until } from '../setup/until.ts';
import { ANTHROPIC_MESSAGES } from '../setup/wire/anthropic-messages.ts';
import { OPENAI_RESPONSES } from '../setup/wire/openai-responses.ts';
import { inSteps, WireServer } from '../setup/wire/wire-server.ts';

let server: CrashServer;
beforeAll(async () => {
  server = await CrashServer.open();
});
afterAll(() => server.close());

describe.each([
  { model: 'openai/gpt-5', prefix: 'OPENAI', protocol: OPENAI_RESPONSES },
  { model: 'anthropic/claude-sonnet-4-5', prefix: 'ANTHROPIC', protocol: ANTHROPIC_MESSAGES },
])('SIGKILL of a worker whose model is $model', ({ model, prefix, protocol }) => {
  const variables = (wire: WireServer) => ({
    [`${prefix}_BASE_URL`]: wire.url,
    [`${prefix}_API_KEY`]: `test-key-of-${prefix.toLowerCase()}`,
  });

  test('within a model call: the call is made again, effects happen once [model.providers.kill]', async () => {
    let requests = 0;
    const steps = inSteps({
      reasoning: 'hm',
      calls: [
        { name: 'effect', args: { n: 1 } },
        { name: 'effect', args: { n: 2 } },
      ],
    });
    await using wire = await WireServer.start(protocol, (turn) => {
      requests += 1;
      return requests === 1 ? { fault: { hang: true } } : steps(turn);
    });
    await CrashScene.play(server, [], async (scene) => {
      const start = () => scene.startWorker(undefined, { model, variables: variables(wire) });
      await start();
      const handle = await scene.client.sendMessage(scene.turn);
      await until(() => expect(requests).toBe(1));
      await scene.worker?.kill();
      await start();
      expect(await handle.result()).toMatchObject({ status: 'completed', text: 'done' });
      expect(requests).toBe(3);
      expect(new Set(scene.effects()).size).toBe(2);
      expect(wire.refusals).toEqual([]);
    });
  });

  test('within a tool: its call runs again, the model is not asked again [model.providers.kill]', async () => {
    await using wire = await WireServer.start(
      protocol,
      inSteps({
        reasoning: 'hm',
        calls: [
          { name: 'hold', args: {} },
          { name: 'effect', args: { n: 2 } },
        ],
      }),
    );
    await CrashScene.play(server, [], async (scene) => {
      const start = () => scene.startWorker(undefined, { model, variables: variables(wire) });
      await start();
      const handle = await scene.client.sendMessage(scene.turn);
      await until(() => expect(scene.effects()).toHaveLength(2));
      await scene.worker?.kill();
      scene.openGate();
      await start();
      expect(await handle.result()).toMatchObject({ status: 'completed', text: 'done' });
      expect(wire.requests).toHaveLength(2);
      // Each under its own key, which tells a repeated effect.
      expect(new Set(scene.effects()).size).toBe(2);
      expect(wire.refusals).toEqual([]);
    });
  });
});
