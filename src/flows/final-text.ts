import type { Content } from '../events/content.ts';

/** The text of a final answer: its text parts, thoughts left out. */
export function finalTextOf(content: Content | undefined): string {
  return (content?.parts ?? []).map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
}
