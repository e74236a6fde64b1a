import { type Event, FunctionTool, isFinalResponse, LlmAgent, stringifyContent } from '@google/adk';
import { z } from 'zod';

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'Tells the weather of a city.',
  parameters: z.object({
    city: z.string().describe('Name of the city.'),
    unit: z.enum(['celsius', 'fahrenheit']).default('celsius'),
    days: z.int().min(1).max(7).optional(),
  }),
  execute: async ({ city, unit, days }) => {
    const forecast: { day: number; degrees: number }[] = [];
    for (let day = 0; day < (days ?? 1); day++) {
      forecast.push({ day, degrees: unit === 'celsius' ? city.length : city.length * 2 });
    }
    return { status: 'success', forecast };
  },
});

const getTime = new FunctionTool({
  description: 'Tells the time.',
  execute: function get_time() {
    return new Date().toISOString();
  },
});

export const rootAgent = new LlmAgent({
  name: 'weather_agent',
  description: 'Answers questions about the weather.',
  model: 'gemini-2.5-flash',
  instruction: 'You are a helpful agent. Use the tools to answer.',
  generateContentConfig: { temperature: 0.2, maxOutputTokens: 500 },
  tools: [getWeather, getTime],
  outputKey: 'last_answer',
});

export function answerOf(events: Event[]): string {
  return events.filter(isFinalResponse).map(stringifyContent).join('\n');
}
