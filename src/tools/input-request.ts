import { defined, isRecord } from '../protocol/json.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import { toJsonValue } from '../schema/json-value.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { SchemaLike, SchemaOutput } from '../schema/schema-types.ts';
import type { CallQuestions, HeldAnswer, HeldQuestion } from './call-questions.ts';
import { ToolError } from './tool-error.ts';

/** A question to a person. */
export interface InputRequest<TSchema extends SchemaLike | undefined = undefined> {
  /** The question, for people. */
  message: string;
  /** Schema of the answer; any JSON by default. */
  responseSchema?: TSchema;
  /** JSON that goes with the question. */
  payload?: unknown;
}

export type InputAnswer<TSchema extends SchemaLike | undefined> = [TSchema] extends [undefined]
  ? unknown
  : SchemaOutput<TSchema>;

/**
 * The answer to the next question of a run.
 *
 * @throws InputPending where there is none yet.
 * @throws ToolError for an answer that doesn't match the schema.
 */
export async function nextInput(
  questions: CallQuestions,
  request: InputRequest<SchemaLike | undefined>,
): Promise<unknown> {
  const { question, schema } = asked(request);
  const answer = questions.input(question);
  if (schema === undefined) return answer;
  const validation = await schema.validate(structuredClone(answer));
  if (validation.ok) return validation.value;
  throw new ToolError(`requestInput: the answer doesn't match responseSchema: ${validation.message}`, {
    code: 'HOLDFAST_INPUT_MISMATCH',
    retryable: false,
  });
}

/**
 * Asks a question and waits for the answer while the run goes on: the worker's slot is held until then. An answer that doesn't match the
 * schema counts as none.
 *
 * @throws DefinitionError for a value that is no schema.
 */
export async function heldInput(
  questions: CallQuestions,
  request: InputRequest<SchemaLike | undefined>,
  { within, signal }: Pick<HeldQuestion, 'within' | 'signal'>,
): Promise<HeldAnswer> {
  const { question, schema } = asked(request);
  const answer = await questions.hold({ question, within, signal });
  if (answer.status !== 'answered' || schema === undefined) return answer;
  const validation = await schema.validate(structuredClone(answer.response));
  if (validation.ok) return { status: 'answered', response: validation.value };
  return { status: 'refused', reason: `the answer doesn't match its schema: ${validation.message}` };
}

function asked(request: InputRequest<SchemaLike | undefined>) {
  if (!isRecord(request) || typeof request.message !== 'string' || request.message === '') {
    const got = isRecord(request) ? kindOf(request.message) : kindOf(request);
    throw new TypeError(`requestInput: message must be the text of a question, got ${got}`);
  }
  const { message, responseSchema, payload } = request;
  const site = { owner: 'requestInput', field: 'responseSchema', side: 'input', isOutside: true } as const;
  const schema = responseSchema === undefined ? undefined : compileSchema(responseSchema, site);
  const json = toJsonValue(payload);
  const question: HeldQuestion['question'] = {
    kind: 'input',
    message: shortHint(message),
    ...(schema === undefined ? {} : { responseSchema: schema.jsonSchema }),
    ...defined({ payload: json }),
  };
  return { question, schema };
}

const LONGEST_HINT = 2_000;

/** A question as people are shown it: at most 2,000 characters. */
export function shortHint(text: string): string {
  return text.length <= LONGEST_HINT ? text : `${text.slice(0, LONGEST_HINT - 1).toWellFormed()}…`;
}
