import {
  type BaseTool,
  BaseToolset,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  type ReadonlyContext,
  StreamingMode,
  stringifyContent,
} from 'holdfast';
import { z } from 'zod';

/** A weather station whose tools depend on who asks, and whose answers come word by word. */
const READINGS: Record<string, number> = { wind: 11.4, pressure: 1003 };

class Instruments extends BaseToolset {
  async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const all = [this.#read(), this.#calibrate()];
    return context === undefined ? all : all.filter((tool) => this.isToolSelected(tool, context));
  }

  async close(): Promise<void> {}

  #read(): BaseTool {
    return new FunctionTool({
      name: 'read_instrument',
      description: 'Reads an instrument.',
      parameters: z.object({ instrument: z.enum(['wind', 'pressure']) }),
      execute: ({ instrument }) => ({ instrument, value: READINGS[instrument] }),
    });
  }

  #calibrate(): BaseTool {
    return new FunctionTool({
      name: 'calibrate',
      description: 'Sets an instrument to zero.',
      parameters: z.object({ instrument: z.string() }),
      execute: ({ instrument }) => ({ calibrated: instrument }),
    });
  }
}

const instruments = new Instruments(
  (tool, context) => tool.name !== 'calibrate' || context.state.get('role') === 'engineer',
);

const station = new LlmAgent({
  name: 'station',
  model: 'gemini-2.5-flash',
  instruction: (context) =>
    `You speak for a weather station, to a person in the role of ${context.state.get('role')}.`,
  tools: [instruments],
});

const runner = new InMemoryRunner({ agent: station });
for (const role of ['visitor', 'engineer']) {
  const { id: sessionId } = await runner.sessionService.createSession({
    appName: runner.appName,
    userId: role,
    state: { role },
  });
  let streamed = '';
  for await (const event of runner.runAsync({
    userId: role,
    sessionId,
    newMessage: { role: 'user', parts: [{ text: 'How strong is the wind?' }] },
    runConfig: { streamingMode: StreamingMode.SSE, maxLlmCalls: 5 },
  })) {
    const text = stringifyContent(event);
    if (event.partial) streamed += text;
    else if (text !== '')
      console.log(`${role}: ${text} (${streamed === text ? 'as it was streamed' : streamed})`);
  }
}
