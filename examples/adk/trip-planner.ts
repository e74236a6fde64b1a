import { InMemoryRunner, isFinalResponse, LlmAgent, Runner, stringifyContent } from 'holdfast';
import { z } from 'zod';

/** A plan in a fixed form, made better turn by turn, and a second agent that is asked once, on the side. */
const Plan = z.object({
  place: z.string(),
  days: z.array(z.object({ day: z.number().int(), what: z.string() })),
});

const planner = new LlmAgent({
  name: 'planner',
  model: 'gemini-2.5-flash',
  instruction: 'Plan trips. Improve the plan that you made before, where there is one.',
  outputSchema: Plan,
  outputKey: 'plan',
  generateContentConfig: { temperature: 0 },
});

const critic = new LlmAgent({
  name: 'critic',
  model: 'gemini-2.5-flash',
  instruction: 'Say in one sentence what is wrong with a plan.',
});

const runner = new InMemoryRunner({ agent: planner, appName: 'trips' });
const { id: sessionId } = await runner.sessionService.createSession({ appName: 'trips', userId: 'ada' });

async function ask(text: string): Promise<z.infer<typeof Plan>> {
  let answer = '';
  for await (const event of runner.runAsync({
    userId: 'ada',
    sessionId,
    newMessage: { role: 'user', parts: [{ text }] },
  })) {
    if (isFinalResponse(event)) answer = stringifyContent(event);
  }
  return Plan.parse(JSON.parse(answer));
}

const first = await ask('Two days in Tartu.');
console.log(`${first.place}: ${first.days.map(({ what }) => what).join(', ')}`);

const { sessionService } = runner;
const onTheSide = new Runner({ agent: critic, appName: 'trips', sessionService });
for await (const event of onTheSide.runEphemeral({
  userId: 'ada',
  newMessage: { role: 'user', parts: [{ text: JSON.stringify(first) }] },
})) {
  if (!isFinalResponse(event)) continue;
  const better = await ask(`Better: ${stringifyContent(event)}`);
  for (const { day, what } of better.days) console.log(`day ${day}: ${what}`);
}

const session = await runner.sessionService.getSession({ appName: 'trips', userId: 'ada', sessionId });
const stored = Plan.parse(session?.state.plan);
console.log(`${session?.events.length} events; stored: ${stored.days.map(({ what }) => what).join(', ')}`);
