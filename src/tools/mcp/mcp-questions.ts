import { isRecord } from '../../protocol/json.ts';
import type { JsonSchemaObject } from '../../schema/compiled-schema.ts';
import { declinable } from '../../schema/declinable-form.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { thrownField } from '../../schema/thrown-message.ts';
import type { Context } from '../context.ts';
import type { McpAnswer, McpReplies } from './mcp-answer.ts';
import { McpRefused } from './mcp-errors.ts';

/** The questions of a server about a call, and its own state. JSON. */
export interface McpQuestions {
  resultType: 'input_required';
  inputRequests: Record<string, unknown>;
  requestState?: string;
  hearsAnswers?: true;
}

/** Rounds of questions of one call, or of its task. */
const MOST_ROUNDS = 20;
/** Questions of one round. */
const MOST_QUESTIONS = 10;
/** Characters of a server's state. */
const LONGEST_STATE = 64 * 1024;
/** Characters of one question as JSON. */
const LONGEST_QUESTION = 32 * 1024;

/**
 * The questions of an answer; undefined for one that asks nothing.
 *
 * @param round of the call or of its task, from 1.
 * @throws McpRefused for too many or too long ones, and too many rounds.
 */
export function askedIn(answer: McpAnswer, round = 1): McpQuestions | undefined {
  const { resultType, inputRequests = {}, requestState, hearsAnswers } = answer;
  if (resultType !== 'input_required') return undefined;
  if (round > MOST_ROUNDS)
    throw new McpRefused(`the MCP server asks in more than ${MOST_ROUNDS} rounds about one call`);
  const questions = Object.entries(inputRequests);
  if (questions.length > MOST_QUESTIONS) {
    throw new McpRefused(
      `the MCP server asks ${questions.length} questions at once, at most ${MOST_QUESTIONS} are asked`,
    );
  }
  for (const [, question] of questions) assertShort(question);
  if (requestState !== undefined && requestState.length > LONGEST_STATE) {
    throw new McpRefused(`the MCP server's requestState has more than ${LONGEST_STATE} characters`);
  }
  return {
    resultType: 'input_required',
    inputRequests: Object.fromEntries(questions),
    ...(requestState === undefined ? {} : { requestState }),
    ...(hearsAnswers === true ? { hearsAnswers } : {}),
  };
}

/** `URLElicitationRequiredError` of MCP 2025-11-25. */
const PAGES_ARE_REQUIRED = -32_042;

/** The questions of an error by which a server takes a call only after a person has opened pages; undefined for any other error. */
export function askedByError(error: unknown): McpAnswer | undefined {
  const data = thrownField(error, 'data');
  if (thrownField(error, 'code') !== PAGES_ARE_REQUIRED || !isRecord(data)) return undefined;
  const given: readonly unknown[] = Array.isArray(data.elicitations) ? data.elicitations : [];
  const pages = given.filter((each) => isRecord(each) && each.mode === 'url');
  if (pages.length === 0 || pages.length < given.length) return undefined;
  const asked = pages.map((params, index) => [`${index}`, { method: 'elicitation/create', params }]);
  return { resultType: 'input_required', inputRequests: Object.fromEntries(asked), hearsAnswers: true };
}

/** @throws McpRefused */
export function assertShort(question: unknown): void {
  if (JSON.stringify(question).length <= LONGEST_QUESTION) return;
  throw new McpRefused(`the MCP server asks a question of more than ${LONGEST_QUESTION} characters`);
}

/**
 * Asks people the questions of a server, one after another. The call waits for each.
 *
 * @throws McpRefused for a question of a kind that nobody is asked here, and for a page that isn't opened where the call depends on it.
 */
export async function answersOf(
  { inputRequests, requestState, hearsAnswers }: McpQuestions,
  context: Context,
  tool: string,
): Promise<McpReplies> {
  const answers: [string, unknown][] = [];
  for (const [key, request] of Object.entries(inputRequests)) {
    const answer = await answerTo(request, context, tool);
    if (hearsAnswers && answer.action !== 'accept') {
      throw new McpRefused(
        `the MCP server takes a call of ${tool} only after a person has opened a page, and the person says that it isn't done: the call was not made again`,
      );
    }
    answers.push([key, answer]);
  }
  if (hearsAnswers) return {};
  return {
    // A key may be `__proto__`.
    ...(answers.length > 0 ? { inputResponses: Object.fromEntries(answers) } : {}),
    ...(requestState === undefined ? {} : { requestState }),
  };
}

async function answerTo(request: unknown, context: Context, tool: string): Promise<McpElicited> {
  const { method, params } = isRecord(request) ? request : {};
  if (method !== 'elicitation/create' || !isRecord(params)) {
    const asked = typeof method === 'string' ? method.slice(0, 100) : kindOf(method);
    throw new McpRefused(
      `the MCP server asks for ${asked} in a call of ${tool}: only elicitation/create is answered`,
    );
  }
  const { question, told } = elicitationOf(params, tool);
  return told(await context.requestInput(question));
}

/** The answer to a question. Fields: `ElicitResult` of MCP. */
export interface McpElicited {
  action: 'accept' | 'decline' | 'cancel';
  content?: unknown;
}

/** A question of a server as people are asked it, and the server's answer of theirs. */
export interface AskedElicitation {
  question: { message: string; responseSchema: JsonSchemaObject; payload?: unknown };
  told: (answer: unknown) => McpElicited;
}

/** @throws McpRefused for a question that asks to open what is no page. */
export function elicitationOf(params: Record<string, unknown>, tool: string): AskedElicitation {
  const { message, requestedSchema, url } = params;
  const text = typeof message === 'string' && message !== '' ? message : `A call of ${tool} needs an answer.`;
  if (params.mode === 'url') return visited(text, url);
  const schema = isRecord(requestedSchema) ? requestedSchema : { type: 'object', properties: {} };
  const { schema: responseSchema, decline } = declinable(schema);
  const defaults = defaultsOf(schema);
  return {
    question: { message: text, responseSchema },
    told: (answer) => {
      if (!isRecord(answer)) return { action: 'accept', content: answer };
      const { [decline]: isDeclined, ...content } = answer;
      return isDeclined === true
        ? { action: 'decline' }
        : { action: 'accept', content: { ...defaults, ...content } };
    },
  };
}

/** A field that the person leaves out has the default of its schema: SEP-1034 of MCP. */
function defaultsOf({ properties }: JsonSchemaObject): Record<string, unknown> {
  const fields = isRecord(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(
    fields.flatMap(([name, field]) =>
      isRecord(field) && field.default !== undefined ? [[name, field.default]] : [],
    ),
  );
}

function visited(message: string, given: unknown): AskedElicitation {
  const url = typeof given === 'string' ? URL.parse(given) : null;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new McpRefused('the MCP server asks to open an address that is none of http or https');
  }
  const question = {
    message: `${message}\n\nOpen ${url.href}, and answer once you are done there.`,
    responseSchema: {
      type: 'object',
      properties: { done: { type: 'boolean', description: 'Whether it is done.' } },
      required: ['done'],
    },
    payload: { url: url.href },
  };
  return {
    question,
    told: (answer) => ({ action: isRecord(answer) && answer.done === true ? 'accept' : 'decline' }),
  };
}
