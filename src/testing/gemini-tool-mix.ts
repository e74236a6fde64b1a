import { invalidArgument } from './gemini-error.ts';
import { isObject, isUnset, type Json, listOf } from './gemini-json.ts';

/**
 * Refuses what a model doesn't take together, as the API does: Gemini 2 takes one of built-in tools, functions and an answer in
 * JSON; later ones take built-in tools beside functions if the request says so.
 *
 * @see https://ai.google.dev/gemini-api/docs/tool-combination
 */
export function checkToolMix(model: string, body: Json): void {
  const tools = listOf(body.tools).filter(isObject);
  const hasFunctions = tools.some((tool) => listOf(tool.functionDeclarations).length > 0);
  const hasBuiltIns = tools.some((tool) =>
    Object.entries(tool).some(([name, value]) => name !== 'functionDeclarations' && !isUnset(value)),
  );
  if (/^gemini-[12]\b/.test(model)) {
    if (hasFunctions && hasBuiltIns) throw invalidArgument('Tool use with function calling is unsupported');
    const config = isObject(body.generationConfig) ? body.generationConfig : {};
    if (config.responseMimeType !== 'application/json' || !(hasFunctions || hasBuiltIns)) return;
    const what = hasFunctions ? 'Function calling' : 'Tool use';
    throw invalidArgument(`${what} with a response mime type: 'application/json' is unsupported`);
  }
  const toolConfig = isObject(body.toolConfig) ? body.toolConfig : {};
  if (!hasFunctions || !hasBuiltIns || toolConfig.includeServerSideToolInvocations === true) return;
  throw invalidArgument(
    'Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.',
  );
}
