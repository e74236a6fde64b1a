import { isRecord } from '../protocol/json.ts';
import { presentFields } from '../schema/copy-plain.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { kindOf } from '../schema/kind-of.ts';
import { isBaseTool } from '../tools/base-tool.ts';
import type { PluginHook } from './plugin-failed.ts';

type Check = (answer: unknown) => string | undefined;

const CONTENT = 'expected a Content ({ role, parts }) or undefined';
const RESPONSE = 'expected an LlmResponse ({ content, … }) or undefined';
const EVENT = 'expected an Event or undefined';
const TOOLS = 'expected an object of tools by name, or undefined';

const CHECKS: Partial<Record<PluginHook, Check>> = {
  onUserMessageCallback: contentProblem,
  beforeRunCallback: contentProblem,
  beforeAgentCallback: contentProblem,
  afterAgentCallback: contentProblem,
  onEventCallback: (answer) => holderProblem(EVENT, answer),
  beforeModelCallback: (answer) => holderProblem(RESPONSE, answer),
  afterModelCallback: (answer) => holderProblem(RESPONSE, answer),
  onModelErrorCallback: (answer) => holderProblem(RESPONSE, answer),
};

/**
 * The answer of a hook as JSON, so that no object of the plugin reaches the store.
 *
 * @returns the tools themselves for `beforeToolSelection`.
 */
export function readAnswer(hook: PluginHook, answer: unknown): { value: unknown } | { problem: string } {
  if (hook === 'beforeToolSelection') {
    const problem = toolsProblem(answer);
    return problem === undefined ? { value: answer } : { problem };
  }
  try {
    const value = toJsonValue(answer);
    const check = CHECKS[hook];
    if (check === undefined) return { value };
    const given = withoutNulls(value);
    const problem = check(given);
    return problem === undefined ? { value: given } : { problem };
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    const place = error.path === '' ? '' : ` at ${error.path}`;
    return { problem: `its answer can't be kept as JSON${place}: ${error.problem}` };
  }
}

/** A content, or a value that holds one, without its null fields. */
function withoutNulls(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const given = presentFields(value);
  const { content, parts } = given;
  return {
    ...given,
    ...(isRecord(content) ? { content: withoutNulls(content) } : {}),
    ...(Array.isArray(parts)
      ? { parts: parts.map((part) => (isRecord(part) ? presentFields(part) : part)) }
      : {}),
  };
}

function contentProblem(content: unknown): string | undefined {
  if (!isRecord(content)) return `${CONTENT}, got ${kindOf(content)}`;
  const { parts, role } = content;
  if (!Array.isArray(parts)) return `${CONTENT}, got an object whose parts are ${kindOf(parts)}`;
  if (role !== undefined && typeof role !== 'string') return `${CONTENT}, got a role that is ${kindOf(role)}`;
  const index = parts.findIndex((part) => !isRecord(part));
  return index < 0 ? undefined : `${CONTENT}, got parts[${index}] that is ${kindOf(parts[index])}`;
}

/** Problem of an answer that should hold a content. */
function holderProblem(wanted: string, answer: unknown): string | undefined {
  if (!isRecord(answer)) return `${wanted}, got ${kindOf(answer)}`;
  const { content } = answer;
  if (content === undefined) {
    return Array.isArray(answer.parts) ? `${wanted}, got a Content: return { content }` : undefined;
  }
  const problem = contentProblem(content);
  return problem === undefined ? undefined : `content: ${problem.replace(' or undefined', '')}`;
}

function toolsProblem(answer: unknown): string | undefined {
  if (!isRecord(answer)) return `${TOOLS}, got ${kindOf(answer)}`;
  for (const [name, tool] of Object.entries(answer)) {
    if (!isBaseTool(tool)) return `${TOOLS}, got ${kindOf(tool)} as ${JSON.stringify(name.slice(0, 64))}`;
  }
  return undefined;
}
