import { isRecord, kindOf } from '../schema/kind-of.ts';
import type { LlmRequest } from '../tools/base-tool.ts';

/**
 * User code may change a request in place, and later code must be able to read it.
 *
 * @throws TypeError naming the field.
 */
export function assertWhole(request: LlmRequest): void {
  const { contents, config, toolsDict, allowedTools } = request;
  if (!Array.isArray(contents)) throw wrong('contents', 'a list of Contents', contents);
  const index = contents.findIndex((content) => !isRecord(content) || !hasParts(content));
  if (index >= 0) throw wrong(`contents[${index}]`, 'a Content ({ role, parts })', contents[index]);
  if (config !== undefined && !isRecord(config)) throw wrong('config', 'an object', config);
  if (config?.tools !== undefined && !Array.isArray(config.tools))
    throw wrong('config.tools', 'a list', config.tools);
  if (!isRecord(toolsDict)) throw wrong('toolsDict', 'an object of tools by name', toolsDict);
  const isNames = Array.isArray(allowedTools) && allowedTools.every((name) => typeof name === 'string');
  if (allowedTools !== undefined && !isNames)
    throw wrong('allowedTools', 'a list of tool names', allowedTools);
}

function hasParts({ parts }: Record<string, unknown>): boolean {
  return parts === undefined || (Array.isArray(parts) && parts.every(isRecord));
}

function wrong(field: string, expected: string, value: unknown): TypeError {
  return new TypeError(`request.${field}: expected ${expected}, got ${kindOf(value)}`);
}
