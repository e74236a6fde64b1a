import type { ContentBlock } from '@modelcontextprotocol/client';
import { defined } from '../../protocol/json.ts';
import type { CompiledSchema } from '../../schema/compiled-schema.ts';
import { Media, ResponseWithMedia } from '../media.ts';
import type { McpAnswer } from './mcp-answer.ts';
import { McpRefused } from './mcp-errors.ts';

/** Characters of an error that a model is told. */
const LONGEST_ERROR = 4_000;

/**
 * A tool's result from that of its server: `{ output }` is the structured content, or the text; media, and `notice` about
 * questions that nobody has answered, stand beside it. Semantics: adk-go's mcptoolset, which drops media.
 *
 * @throws McpRefused for a result that says `isError`, or has structured content that doesn't match the tool's `outputSchema`.
 */
export async function resultOf(
  tool: string,
  { content = [], structuredContent, isError }: McpAnswer,
  output: CompiledSchema | undefined,
  notice?: string,
): Promise<unknown> {
  const blocks = content as readonly ContentBlock[];
  const text = blocks.flatMap(textOf).join('\n');
  if (isError) {
    const details = text === '' ? '' : ` Details: ${text.slice(0, LONGEST_ERROR).toWellFormed()}`;
    throw new McpRefused(`Tool execution failed.${details}${notice === undefined ? '' : ` ${notice}`}`);
  }
  const media = blocks.flatMap(mediaOf);
  const beside = defined({ notice });
  if (structuredContent !== undefined) {
    return withMedia({ output: await checked(tool, structuredContent, output), ...beside }, media);
  }
  return withMedia({ ...(text === '' && media.length > 0 ? {} : { output: text }), ...beside }, media);
}

async function checked(tool: string, value: unknown, output: CompiledSchema | undefined): Promise<unknown> {
  if (output === undefined) return value;
  const validation = await output.validate(value);
  if (validation.ok) return validation.value;
  throw new McpRefused(`the result of ${tool} doesn't match its outputSchema: ${validation.message}`);
}

function withMedia(response: Record<string, unknown>, media: readonly Media[]): unknown {
  return media.length === 0 ? response : new ResponseWithMedia(response, media);
}

function textOf(block: ContentBlock): string[] {
  switch (block.type) {
    case 'text':
      return [block.text];
    case 'resource':
      return 'text' in block.resource ? [`${block.resource.uri}:\n${block.resource.text}`] : [];
    case 'resource_link': {
      const { uri, name, description, mimeType, size } = block;
      return [JSON.stringify({ uri, name, ...defined({ description, mimeType, size }) })];
    }
    default:
      return [];
  }
}

function mediaOf(block: ContentBlock): Media[] {
  if (block.type === 'image' || block.type === 'audio') return bytesOf(block.data);
  if (block.type !== 'resource' || !('blob' in block.resource)) return [];
  return bytesOf(block.resource.blob, block.resource.uri);
}

/** The type is told from the data: a model refuses a request with data of another type than its own, and all later ones. */
function bytesOf(base64: string, name?: string): Media[] {
  const data = Buffer.from(base64, 'base64');
  if (data.length === 0) return [];
  return [new Media({ mimeType: 'application/octet-stream', data, ...defined({ name }) })];
}
