import * as holdfast from '../../src/index.ts';
import type { TestEnvironment } from '../../src/testing/test-environment.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';
import type { Came, PartialTexts } from './comparable.ts';
import { play, USER } from './play.ts';
import { agentNameOf, rememberedSession, type Scenario, turnOf } from './scenario.ts';
import { ScriptedLlm } from './scripted-llm.ts';

interface Actor {
  agent: holdfast.BaseAgent;
  model: ScriptedLlm;
  notes: unknown[];
}

/** All scenarios on one worker of Holdfast, each an app of its own. */
export class HoldfastSide {
  readonly #actors: ReadonlyMap<string, Actor>;
  readonly #env: TestEnvironment;

  private constructor(env: TestEnvironment, actors: ReadonlyMap<string, Actor>) {
    this.#env = env;
    this.#actors = actors;
  }

  static async open(scenarios: readonly Scenario[]): Promise<HoldfastSide> {
    const actors = new Map<string, Actor>();
    const apps = scenarios.map((scenario) => {
      const name = agentNameOf(scenario);
      if (actors.has(name)) throw new Error(`two scenarios are called ${scenario.name}`);
      const model = new ScriptedLlm('gemini-2.5-flash', scenario.script, scenario.isTimed);
      const notes: unknown[] = [];
      const note = (...what: unknown[]) => void notes.push(structuredClone(what));
      const { agent, plugins = [] } = scenario.build(holdfast, model, name, note);
      actors.set(name, { agent, model, notes });
      if (scenario.remembered === undefined) return new holdfast.App({ name, rootAgent: agent, plugins });
      const service = new holdfast.InMemoryMemoryService();
      void service.addSessionToMemory(rememberedSession(holdfast as never, scenario, name, USER) as never);
      return new holdfast.App({ name, rootAgent: agent, plugins, durable: { memory: { service } } });
    });
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    return new HoldfastSide(await openPlacedEnvironment({ apps, worker: { logger } }), actors);
  }

  async run(scenario: Scenario): Promise<Came> {
    const app = agentNameOf(scenario);
    const actor = this.#actors.get(app);
    if (actor === undefined) throw new Error(`no scenario ${app}`);
    const { agent, model, notes } = actor;
    const runner = new holdfast.Runner({ appName: app, agent, client: this.#env.client });
    const { sessionService } = runner;
    const isStream = scenario.turns.some(
      (turn) => (turnOf(turn).runConfig ?? scenario.runConfig)?.streamingMode === 'sse',
    );
    return await play(
      scenario,
      {
        runAsync: (params) => runner.runAsync(params),
        runEphemeral: (params) => runner.runEphemeral(params),
        createSession: (state) => sessionService.createSession({ appName: app, userId: USER, state }),
        appendEvent: (session, event) =>
          sessionService.appendEvent({ session, event: holdfast.createEvent(event) }),
        getSession: (sessionId) => sessionService.getSession({ appName: app, userId: USER, sessionId }),
        ...(isStream ? { listen: (sessionId: string) => this.#listen(app, sessionId) } : {}),
      },
      { requests: model.requests, notes },
    );
  }

  /** Listens from before the message is sent, so that no partial text is missed. */
  async #listen(app: string, sessionId: string): Promise<() => Promise<PartialTexts>> {
    const names = { app, userId: USER, sessionId };
    const stop = new AbortController();
    const after = (await this.#env.store.sessions.find(names))?.seq ?? 0;
    const heard: PartialTexts = { text: '', thoughts: '' };
    let last = after;
    const { promise: caughtUp, resolve } = Promise.withResolvers<void>();
    let until = Number.POSITIVE_INFINITY;
    const listening = (async () => {
      for await (const item of this.#env.client.stream(names, { after, signal: stop.signal })) {
        if (item.type === 'text') heard[item.thought ? 'thoughts' : 'text'] += item.text;
        if (item.type === 'event') last = item.seq;
        if (last >= until) resolve();
      }
    })();
    return async () => {
      until = (await this.#env.store.sessions.find(names))?.seq ?? 0;
      if (last < until) await caughtUp;
      stop.abort();
      await listening;
      return heard;
    };
  }

  close(): Promise<void> {
    return this.#env.close();
  }
}
