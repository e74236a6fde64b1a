import { isLlmAgent } from '../agents/llm-agent.ts';
import { isRecord } from '../protocol/json.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import type { ResolvedDurableOptions } from '../tools/durable-options.ts';
import type { AgentView } from '../tools/invocation-context.ts';

/** Values that a tool, or its agent, keeps out of records. */
export interface Discretion {
  sensitive: ResolvedDurableOptions['sensitive'];
  /** Names of the tool's arguments, where it says all of them: the model may misspell one that is withheld. */
  known?: readonly string[];
}

/** Stands for what an agent or a tool keeps to itself. */
export const WITHHELD = '(sensitive)';

export const WITHHOLDS_ALL: Discretion = { sensitive: true };

/** Characters. Shorter values stand in any text by chance. */
const SHORTEST_SECRET = 3;

export function isSensitiveAgent(agent: AgentView | undefined): boolean {
  return isLlmAgent(agent) && agent.durable.sensitive;
}

export function discretionOf(tool: BaseTool): Discretion {
  const { sensitive } = tool.durable;
  if (typeof sensitive === 'boolean') return { sensitive };
  try {
    const properties = tool.describe().inputSchema?.properties;
    return isRecord(properties) ? { sensitive, known: Object.keys(properties) } : { sensitive };
  } catch {
    // Requests tell of a declaration that throws; here it only means that the tool's arguments aren't known.
    return WITHHOLDS_ALL;
  }
}

/** The arguments of a call, without those that its tool withholds. */
export function shownArguments(discretion: Discretion, args: Record<string, unknown>): unknown {
  const { sensitive } = discretion;
  if (sensitive === true) return WITHHELD;
  if (sensitive === false) return args;
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, isWithheld(discretion, name) ? WITHHELD : value]),
  );
}

/**
 * The outcome of a call, without values that its tool withholds. An error, and an answer in its place, may quote any argument. From
 * other results the values of withheld arguments are left out.
 *
 * @returns {@link WITHHELD} where nothing of it is to be shown.
 */
export function shownResponse(
  discretion: Discretion,
  args: Record<string, unknown>,
  response: Record<string, unknown>,
): unknown {
  if (isResultWithheld(discretion, isOfError(response))) return WITHHELD;
  return withoutSecrets(response, secretsIn(discretion, args));
}

/** Whether a result is withheld; an error may quote any argument. */
export function isResultWithheld({ sensitive }: Discretion, failed: boolean): boolean {
  if (typeof sensitive === 'boolean') return sensitive;
  return failed ? sensitive.length > 0 : sensitive.includes('result');
}

/** A text of an error, without the values of arguments that its tool withholds. */
export function withoutWithheld(text: string, discretion: Discretion, args: Record<string, unknown>): string {
  return withoutSecretsIn(text, secretsIn(discretion, args));
}

function isOfError(response: Record<string, unknown> | undefined): boolean {
  if (response === undefined) return false;
  return Object.hasOwn(response, 'error') || response.response_type === REFLECT_AND_RETRY_RESPONSE_TYPE;
}

function isWithheld({ sensitive, known }: Discretion, name: string): boolean {
  if (typeof sensitive === 'boolean') return sensitive;
  if (sensitive.length === 0) return false;
  return sensitive.includes(name) || (known !== undefined && !known.includes(name));
}

/** Values of withheld arguments, the longest first: a shorter one may be part of it. */
function secretsIn(discretion: Discretion, args: Record<string, unknown>): readonly string[] {
  if (typeof discretion.sensitive === 'boolean') return [];
  return Object.entries(args)
    .flatMap(([name, value]) => (isWithheld(discretion, name) ? leavesOf(value) : []))
    .filter((value) => value.length >= SHORTEST_SECRET)
    .toSorted((one, other) => other.length - one.length);
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leavesOf);
  return value === undefined || value === null || typeof value === 'boolean' ? [] : [String(value)];
}

function withoutSecrets(value: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return value;
  if (typeof value === 'string') return withoutSecretsIn(value, secrets);
  if (typeof value === 'number') return secrets.includes(String(value)) ? WITHHELD : value;
  if (Array.isArray(value)) return value.map((each) => withoutSecrets(each, secrets));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutSecrets(each, secrets)]));
}

function withoutSecretsIn(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, WITHHELD), text);
}

export const REFLECT_AND_RETRY_RESPONSE_TYPE = 'ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN';

/** The response that tells the model of a failure. Wire names: `ToolFailureResponse` of adk-python. */
export interface ToolFailureResponse {
  response_type: typeof REFLECT_AND_RETRY_RESPONSE_TYPE;
  error_type: string;
  error_details: string;
  retry_count: number;
  reflection_guidance: string;
}
