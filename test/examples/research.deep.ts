import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { search } from '../../examples/research/corpus.ts';
import { review } from '../../examples/research/review-draft.ts';
import { HoldfastProcess } from '../cli/holdfast-process.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-research-'));
const program = fileURLToPath(new URL('../../examples/research/demo.ts', import.meta.url));
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('the notes', () => {
  test('are found by words, those with the most of them first [example.research]', () => {
    expect(search(['Punctuality', 'percent'], 2)).toEqual([
      {
        source: 'counts.md:7',
        text: 'Punctuality, arrivals within three minutes: 91 percent before, 88 percent in the first free year.',
      },
      expect.objectContaining({ source: 'counts.md:4' }),
    ]);
    expect(search(['zeppelin'], 5)).toEqual([]);
  });

  test('are what figures of a draft come from, in few words [example.research]', () => {
    expect(review('Fares brought in 2.1 million. [budget.md:3]\nPeople like it.')).toEqual({
      words: 8,
      problems: [],
    });
    expect(review('Up by 31 percent.\nUp by 40 percent. [rumours.md:1]').problems).toEqual([
      'a figure without its source: Up by 31 percent.',
      'no such source: rumours.md:1',
    ]);
    expect(review('word '.repeat(91)).problems).toEqual(['91 words, of at most 90']);
  });
});

test('one command researches at once, checks claims, sends a draft round, asks, and publishes [example.research] [flow.parallel] [flow.loop] [agentTool.run]', async () => {
  const site = join(work, 'site');
  const demo = new HoldfastProcess(['--folder', join(work, '.holdfast'), '--stop-server'], {
    program,
    cwd: work,
    env: { RESEARCH_SITE: site },
  });
  const { code, stdout, stderr } = await demo.finished();
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toContain('GEMINI_API_KEY is not set');
  for (const researcher of ['money', 'riders', 'voices']) {
    expect(stdout).toMatch(new RegExp(`${researcher} {2}→ search_notes`));
  }
  expect(stdout.match(/riders {2}→ fact_checker\(/g)).toHaveLength(2);
  expect(stdout.match(/riders {2}← fact_checker \{"result":"wrong: /g)).toHaveLength(2);
  const inOrder = [
    /critic {2}← review_draft .*a figure without its source/,
    /critic {2}← review_draft .*"problems":\["\d+ words, of at most 90"\]/,
    /critic {2}← review_draft \{"words":\d+,"problems":\[\]\}/,
    /critic {2}→ exit_loop/,
    /writer {2}asks for an approval: publish_report: Publish “Should the buses of Aldersund stay free\?”, 5 lines/,
    /call +publish_report of briefing › writer, session research\/user\/briefing-/,
    /rq-\S+ approved/,
    /writer {2}The report is published/,
    /# Should the buses of Aldersund stay free\?/,
    /http:\S+\/relationships/,
  ];
  let rest = stdout;
  for (const expected of inOrder) {
    expect(rest).toMatch(expected);
    rest = rest.slice(rest.search(expected));
  }
  const report = readFileSync(join(site, 'free-buses.md'), 'utf8');
  expect(report).toContain('31 percent more. [counts.md:4]');
  expect(report).not.toContain('40 percent');
});
