import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { inTier } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import { WIRE_PROVIDERS } from '../setup/wire/providers.ts';
import { inSteps, WireServer } from '../setup/wire/wire-server.ts';

let server: CrashServer;
beforeAll(async () => {
  server = await CrashServer.open();
});
afterAll(() => server.close());

describe('SIGKILL of workers', () => {
  test.concurrent.each(inTier(WIRE_PROVIDERS.slice(0, 1), WIRE_PROVIDERS))(
    'on $name, within a model call and within a tool: each is done again, no other one is, effects happen once [model.providers.kill]',
    async ({ name, protocol, reasons }) => {
      let requests = 0;
      const steps = inSteps({
        ...(reasons && { reasoning: 'hm' }),
        calls: [
          { name: 'hold', args: {} },
          { name: 'effect', args: { n: 2 } },
        ],
      });
      await using wire = await WireServer.start(protocol, (turn) => {
        requests += 1;
        return requests === 1 ? { fault: { hang: true } } : steps(turn);
      });
      await CrashScene.play(server, [], async (scene) => {
        const start = () => scene.startWorker(undefined, { model: { provider: name, url: wire.url } });
        await start();
        const handle = await scene.client.sendMessage(scene.turn);
        await until(() => expect(requests).toBe(1));
        await scene.worker?.kill();
        await start();
        await until(() => expect(scene.effects()).toHaveLength(2));
        await scene.worker?.kill();
        scene.openGate();
        // The process that goes on has the provider's reasoning and signatures from the transcript alone.
        await start();
        expect(await handle.result()).toMatchObject({ status: 'completed', text: 'done' });
        expect(requests).toBe(3);
        // Each under its own key, which tells a repeated effect.
        expect(new Set(scene.effects()).size).toBe(2);
        expect(wire.refusals).toEqual([]);
      });
    },
  );
});
