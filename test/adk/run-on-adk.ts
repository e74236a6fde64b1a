import type { Event } from '../../src/index.ts';
import type { Came } from './comparable.ts';
import { inLateOrder } from './late-order.ts';
import { play, USER } from './play.ts';
import { agentNameOf, type Library, rememberedSession, type Scenario } from './scenario.ts';
import { ScriptedLlm } from './scripted-llm.ts';

const APP = 'differential';

/** The scenario on @google/adk. */
export async function runOnAdk(scenario: Scenario): Promise<Came> {
  const adk = (await import('@google/adk')) as unknown as Library;
  adk.setLogger({ setLogLevel() {}, log() {}, debug() {}, info() {}, warn() {}, error() {} });
  const model = new ScriptedLlm('gemini-2.5-flash', scenario.script, scenario.isTimed);
  const notes: unknown[] = [];
  const note = (...what: unknown[]) => void notes.push(structuredClone(what));
  const { agent, plugins = [] } = scenario.build(adk, model, agentNameOf(scenario), note);
  const sessionService = new adk.InMemorySessionService();
  const kept = scenario.keepsTalk ? [talkKept(adk), ...plugins] : plugins;
  const { InMemoryArtifactService, InMemoryMemoryService } = adk as unknown as typeof import('@google/adk');
  const memoryService = new InMemoryMemoryService();
  await memoryService.addSessionToMemory(rememberedSession(adk, scenario, APP, USER) as never);
  const services = {
    ...{ sessionService, artifactService: new InMemoryArtifactService() },
    ...(scenario.remembered === undefined ? {} : { memoryService }),
  };
  const runner = new adk.Runner({ agent, appName: APP, plugins: kept, ...services } as never);
  return await play(
    scenario,
    {
      runAsync: (params) => runner.runAsync(params),
      runEphemeral: (params) => runner.runEphemeral(params),
      createSession: (state) => sessionService.createSession({ appName: APP, userId: USER, state }),
      appendEvent: (session, event) => sessionService.appendEvent({ session, event: adk.createEvent(event) }),
      getSession: (sessionId) => sessionService.getSession({ appName: APP, userId: USER, sessionId }),
    },
    { requests: model.requests, notes },
  );
}

/** What agents see of a session is in the order of Holdfast, so that ADK leaves out nothing of it. */
function talkKept({ BasePlugin }: Library) {
  class TalkKept extends BasePlugin {
    override async beforeRunCallback({
      invocationContext: { session },
    }: Parameters<InstanceType<Library['BasePlugin']>['beforeRunCallback']>[0]) {
      // Read-only with Holdfast, ADK's own.
      const events = session.events as Event[];
      events.splice(0, events.length, ...inLateOrder(events));
      return undefined;
    }
  }
  return new TalkKept('talk-kept');
}
