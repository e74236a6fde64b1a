import { type AddCommand, FOLDER_OPTION } from './command.ts';

export const mcp: AddCommand = (holdfast, act) => {
  holdfast
    .command('mcp')
    .description('offer agents and tools to an MCP client over standard input and output')
    .argument('<agents.ts>', 'file that exports the agents')
    .option('--user <id>', 'user whose sessions these are', 'user')
    .option('--app <name>', "app of the sessions (default: the file's name)")
    .option(...FOLDER_OPTION)
    .addHelpText(
      'after',
      '\nSettings of an MCP client name it, by whole paths: { "command": "node", "args": ["/path/to/project/node_modules/holdfast/bin/holdfast.js", ' +
        '"mcp", "/path/to/project/agents.ts", "--folder", "/path/to/project/.holdfast"], "env": { "GEMINI_API_KEY": "…" } }. Its messages go to ' +
        'standard error. Over HTTP: defineGateway({ mcp }).',
    )
    .action(act(async () => (await import('../mcp/mcp-command.ts')).mcpCommand));
};
