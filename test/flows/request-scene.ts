import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { EventKind, StoredEvent } from '../../src/contract/events.ts';
import type { Content } from '../../src/events/content.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import type { RequestSite } from '../../src/flows/build-request.ts';
import { TranscriptLog, transcriptView } from '../../src/flows/transcript.ts';
import type { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { PluginManager } from '../../src/plugins/plugin-manager.ts';
import type { ToolEdit } from '../../src/protocol/run-terms.ts';
import type { ToolFactory } from '../../src/tools/base-tool.ts';
import { InvocationContext, type TranscriptView } from '../../src/tools/invocation-context.ts';

export interface Scene {
  state?: Record<string, unknown>;
  contents?: Content[];
  plugins?: BasePlugin[];
  factories?: Record<string, ToolFactory>;
  edits?: readonly ToolEdit[];
}

export const MESSAGE: Content = { role: 'user', parts: [{ text: 'second' }] };

export function stored(seq: number, kind: EventKind, content: Content): StoredEvent {
  const invocationId = `e-${Math.ceil(seq / 2)}`;
  const event = { id: `${seq}`, invocationId, timestamp: 0, content, actions: createEventActions() };
  return { seq, kind, runKey: invocationId, step: 1, event };
}

const log = new TranscriptLog();
log.append([
  stored(1, 'message', { role: 'user', parts: [{ text: 'first' }] }),
  stored(2, 'model', { role: 'model', parts: [{ text: 'answer' }] }),
  stored(3, 'message', MESSAGE),
]);

/** What a request of `agent` is built of, the transcript of two turns behind it. */
export function siteOf(agent: LlmAgent, scene: Scene = {}): RequestSite {
  const { contents } = scene;
  const transcript: TranscriptView =
    contents === undefined
      ? transcriptView(log.at(3), 'e-2')
      : { contents: () => [...contents], events: () => [], toolCalls: () => [] };
  const init = {
    appName: 'shop',
    userId: 'ada',
    sessionId: 's1',
    invocationId: 'e-2',
    agentName: agent.name,
    agent,
    state: scene.state ?? {},
    userContent: MESSAGE,
    eventActions: createEventActions(),
    runConfig: {},
    transcript,
  };
  return {
    agent,
    init: { ...init, invocation: new InvocationContext(init) },
    plugins: new PluginManager(scene.plugins),
    toolFactories: new Map(Object.entries(scene.factories ?? {})),
    toolEdits: scene.edits ?? [],
    markUntrusted: false,
  };
}
