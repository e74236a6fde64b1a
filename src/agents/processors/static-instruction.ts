import type { Content, Part } from '../../events/content.ts';

/**
 * The text of a static instruction, a blank line between any two parts, and the contents of what is no text, which the text
 * refers to. Semantics and texts: `LlmRequest.append_instructions` of adk-python.
 */
export function staticInstruction(parts: readonly Part[]): { text: string; referred: Content[] } {
  const texts: string[] = [];
  const referred: Content[] = [];
  for (const { text, inlineData, fileData } of parts) {
    if (text) {
      texts.push(text);
    } else if (inlineData !== undefined) {
      const id = `inline_data_${referred.length}`;
      const { displayName, mimeType } = inlineData;
      texts.push(`[Reference to inline binary data: ${id}${described(displayName, undefined, mimeType)}]`);
      referred.push({ role: 'user', parts: [{ text: `Referenced inline data: ${id}` }, { inlineData }] });
    } else if (fileData !== undefined) {
      const id = `file_data_${referred.length}`;
      const { displayName, fileUri, mimeType } = fileData;
      texts.push(`[Reference to file data: ${id}${described(displayName, fileUri, mimeType)}]`);
      referred.push({ role: 'user', parts: [{ text: `Referenced file data: ${id}` }, { fileData }] });
    }
  }
  return { text: texts.join('\n\n'), referred };
}

function described(name: string | undefined, uri: string | undefined, type: string | undefined): string {
  const known = [name && `'${name}'`, uri && `URI: ${uri}`, type && `type: ${type}`].filter(Boolean);
  return known.length === 0 ? '' : ` (${known.join(', ')})`;
}
