import type { Content, FunctionDeclaration } from '../events/content.ts';
import { isRecord } from '../protocol/json.ts';

/** A tool whose calls name contents: the next request has them, and no later one. */
export interface NamingTool {
  name: string;
  description: string;
  /** The argument, and the field of the response, that has the names. */
  field: string;
  /** The description of the argument, for the model. */
  names: string;
  /** Names of one call, at most. */
  most: number;
}

export function namingDeclaration({ name, description, field, names }: NamingTool): FunctionDeclaration {
  const list = { type: 'array', items: { type: 'string' }, description: names };
  return { name, description, parametersJsonSchema: { type: 'object', properties: { [field]: list } } };
}

export function namesIn(given: Record<string, unknown>, { field, most }: NamingTool): string[] {
  const names: unknown = given[field];
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string').slice(0, most) : [];
}

/** Names that the model has asked for in the step before. Other tools may have put contents behind its responses. */
export function askedNames(contents: readonly Content[], tool: NamingTool): string[] {
  const lastOfModel = contents.findLastIndex(({ role }) => role === 'model');
  const names = contents
    .slice(lastOfModel + 1)
    .flatMap(({ parts = [] }) =>
      parts.flatMap(({ functionResponse }) =>
        functionResponse?.name === tool.name && isRecord(functionResponse.response)
          ? namesIn(functionResponse.response, tool)
          : [],
      ),
    );
  return [...new Set(names)].slice(0, tool.most);
}
