import type { FunctionCall } from '@google/genai';
import {
  calls,
  type GeminiReplyLike,
  type GeminiRequest,
  type GeminiScript,
  reply,
  text,
} from 'holdfast/testing';
import type { Passage } from './corpus.ts';

/** As fast as a model that is read along. */
const PACE = { latencyMs: 250, chunkDelayMs: 20, wordsPerChunk: 4 };

const SOURCED = /^(?:- )?(.+?) (\[[\w-]+\.md:\d+\])$/;

/** Findings that a shorter draft can do without. */
const LEFT_OUT = [1, 2, 6];

interface Asked {
  /** What its instruction comes to, findings and draft filled in. */
  instruction: string;
  userText: string;
  /** What its last calls came to, by tool. */
  responses: { name: string; response: Record<string, unknown> }[];
  /** What it has said in this conversation, the oldest first. */
  ownWords: string[];
}

type Call = FunctionCall & { name: string };

/** What each agent says while there is no key: the words are scripted, the notes and what is counted are real. */
const AGENTS: Record<string, (asked: Asked) => string | Call[]> = {
  money: (asked) => found(asked, ['million', 'fares', 'parking'], 3),
  voices: (asked) => found(asked, ['64 percent', 'seat', 'customers'], 3),

  riders({ responses }) {
    const checked = responses.filter(({ name }) => name === 'fact_checker');
    if (checked.length > 0) return checked.map(({ response }) => verdictLine(response)).join('\n');
    if (responses.length === 0) return [notes(['passengers', 'ridership', 'punctuality'], 6)];
    return passagesIn(responses)
      .filter(({ source }) => source.startsWith('press-release'))
      .map((passage) => ({ name: 'fact_checker', args: { claim: passage.text } }));
  },

  fact_checker({ userText, responses }) {
    if (responses.length === 0) {
      return [
        notes(/ridership/i.test(userText) ? ['passengers', 'percent more'] : ['punctuality', 'arrivals'], 4),
      ];
    }
    const evidence = passagesIn(responses).find(({ source }) => source.startsWith('counts'));
    return evidence === undefined ? 'unknown: the notes say nothing of it' : `wrong: ${factLine(evidence)}`;
  },

  drafter({ instruction, ownWords }) {
    const findings = instruction.split('\n').filter((line) => SOURCED.test(line));
    if (ownWords.length === 0) {
      return findings.map((line, index) => (index < 2 ? line.replace(SOURCED, '$1') : line)).join('\n');
    }
    if (ownWords.length === 1) return findings.join('\n');
    return findings.filter((_, index) => !LEFT_OUT.includes(index)).join('\n');
  },

  critic({ instruction, responses: [reviewed] }) {
    if (reviewed === undefined) return [{ name: 'review_draft', args: { draft: draftIn(instruction) } }];
    const problems = (reviewed.response.problems ?? []) as string[];
    return problems.length === 0 ? [{ name: 'exit_loop', args: {} }] : problems.join('; ');
  },

  writer({ instruction, responses: [published] }) {
    if (published === undefined) {
      const title = 'Should the buses of Aldersund stay free?';
      const lines = draftIn(instruction).split('\n');
      return [{ name: 'publish_report', args: { slug: 'free-buses', title, lines } }];
    }
    const { published: file, error, reason } = published.response;
    if (file !== undefined) return `The report is published: ${file}`;
    return `The report is not published: ${error}${reason === undefined ? '' : ` (${reason})`}.`;
  },
};

export const researchScript: GeminiScript = (request, { functionResponses, userText }): GeminiReplyLike => {
  const instruction = (request.systemInstruction?.parts ?? []).map((part) => part.text ?? '').join('\n');
  const [, agent = ''] = /Your internal name is "(\w+)"/.exec(instruction) ?? [];
  const answer = AGENTS[agent];
  if (answer === undefined) throw new Error(`nothing is scripted for the agent "${agent}"`);
  const said = answer({
    instruction,
    userText,
    responses: functionResponses.map(({ name = '', response = {} }) => ({ name, response })),
    ownWords: ownWordsIn(request),
  });
  return typeof said === 'string' ? reply(text(said), PACE) : reply(calls(said), PACE);
};

function found({ responses }: Asked, words: string[], most: number): string | Call[] {
  return responses.length === 0 ? [notes(words, most)] : passagesIn(responses).map(factLine).join('\n');
}

function notes(words: string[], most: number): Call {
  return { name: 'search_notes', args: { words, most } };
}

function passagesIn(responses: Asked['responses']): Passage[] {
  return responses.flatMap(({ response }) => (response.passages ?? []) as Passage[]);
}

function factLine({ source, text: fact }: Passage): string {
  return `${fact} [${source}]`;
}

function verdictLine({ result = '', error }: Record<string, unknown>): string {
  return error === undefined ? String(result).replace(/^\w+: /, '') : String(error);
}

function draftIn(instruction: string): string {
  return instruction.split('The draft:\n').at(-1)?.trim() ?? '';
}

function ownWordsIn({ contents }: GeminiRequest): string[] {
  return contents
    .filter(({ role }) => role === 'model')
    .flatMap(({ parts = [] }) => parts.flatMap((part) => part.text ?? []));
}
