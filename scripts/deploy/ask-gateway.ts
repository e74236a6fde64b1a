import { z } from 'zod';

const aboutSchema = z.object({ namespace: z.string(), taskQueue: z.string(), store: z.string() });

/**
 * Asks the gateway what it is, with its token, and makes sure that it says nothing without one.
 *
 * @throws Error where it does, or where it serves something else.
 */
export async function askGateway(
  url: string,
  token: string,
  expected: z.infer<typeof aboutSchema>,
): Promise<void> {
  const ask = (headers: Record<string, string>) => fetch(`${url}/v1/about`, { headers });
  const refused = await ask({});
  if (refused.status !== 401) throw new Error(`without its token the gateway answers ${refused.status}`);
  const answer = await ask({ authorization: `Bearer ${token}` });
  if (answer.status !== 200) throw new Error(`the gateway answers ${answer.status}: ${await answer.text()}`);
  const about = aboutSchema.parse(await answer.json());
  for (const [name, value] of Object.entries(expected)) {
    const given = about[name as keyof typeof about];
    if (given !== value) throw new Error(`the gateway's ${name} is ${given}, not ${value}`);
  }
}
