/** What the model is told about a tool that its agent doesn't have; ADK's text. */
export function unknownToolText(name: string, available: readonly string[]): string {
  return [
    `tool '${name.slice(0, 128)}' not found.`,
    `Available tools: ${available.join(', ') || '(none)'}`,
    '',
    'Possible causes:',
    '  1. LLM hallucinated the function name - review agent instruction clarity',
    '  2. Tool not registered - verify agent.tools list',
    '  3. Name mismatch - check for typos',
    '',
    'Suggested fixes:',
    '  - Call one of the available tools by its exact name',
    '  - Answer without a tool if none of them fits',
  ].join('\n');
}
