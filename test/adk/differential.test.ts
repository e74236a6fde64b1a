import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inTier } from '../setup/tier.ts';
import { byAuthor, type Came } from './comparable.ts';
import { withoutContinuing } from './differences.ts';
import { HoldfastSide } from './holdfast-side.ts';
import { asHoldfastHasIt, randomScenarios, withEventsLast } from './random/scenarios.ts';
import { runOnAdk } from './run-on-adk.ts';
import { SCENARIOS } from './scenarios.ts';

/** `HOLDFAST_ADK_SEED` plays what has failed again. */
const SEED = Number(process.env.HOLDFAST_ADK_SEED ?? Math.floor(Math.random() * 2 ** 31));
const RANDOM = randomScenarios(SEED, Number(process.env.HOLDFAST_ADK_RUNS ?? inTier(1, 16)));

/** Each takes two turns' time, and there are hundreds. */
const PLAYED = SCENARIOS.filter((_scenario, index) => index % inTier(12, 1) === 0);

let holdfast: HoldfastSide;

beforeAll(async () => {
  holdfast = await HoldfastSide.open([...PLAYED, ...RANDOM]);
});

afterAll(() => holdfast.close());

describe.concurrent('the same requests, events and state as on ADK [adk.differential]', () => {
  test.each(PLAYED.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
    const came = await Promise.all([runOnAdk(scenario), holdfast.run(scenario)]);
    const [adk, here] = scenario.unordered ? [byAuthor(came[0]), byAuthor(came[1])] : came;
    const { differs } = scenario;
    if (differs === undefined) {
      expect(plain(here)).toEqual(plain(adk));
      return;
    }
    expect(plain(here), 'the difference is gone').not.toEqual(plain(adk));
    const like = differs.plays === undefined ? adk : await runOnAdk({ ...scenario, ...differs.plays });
    expect(plain(here)).toEqual(plain(differs.adk?.(like) ?? like));
  });
});

describe.concurrent('agents made at random do the same as on ADK [adk.differential]', () => {
  test.each(RANDOM.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
    const [adk, here] = await Promise.all([runOnAdk(scenario), holdfast.run(scenario)]);
    expect(plain(withEventsLast(withoutContinuing(here)))).toEqual(plain(asHoldfastHasIt(adk)));
  });
});

/** Without what JSON lacks. */
function plain(came: Came): unknown {
  return JSON.parse(JSON.stringify(came));
}
