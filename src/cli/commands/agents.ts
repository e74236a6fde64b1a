import { Argument, Option } from 'commander';
import { type AddCommand, FOLDER_OPTION } from './command.ts';
import { portNumber } from './setting.ts';

export const dev: AddCommand = (holdfast, act) => {
  holdfast
    .command('dev')
    .description('server, worker, gateway and a chat in one, reloaded on change')
    .argument('<agents.ts>', 'file that exports the agents')
    .option('--agent <name>', "agent that answers (default: the session's last one, then rootAgent)")
    .option('--session <id>', 'session to go on with (default: a new one)')
    .option('--user <id>', 'user of the session', 'user')
    .option('--app <name>', "app of the session (default: the file's name)")
    .option('--port <port>', 'port of the gateway (default: a free one)', portNumber)
    .option('--no-chat', 'only serve, until Ctrl-C')
    .option('--json', 'JSON Lines on standard output: what happens, each with a type')
    .option('--stop-server', 'stop the embedded Temporal server at the end (default: it stays up for its UI)')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../dev/dev-command.ts')).devCommand));
};

export const run: AddCommand = (holdfast, act) => {
  holdfast
    .command('run')
    .description('run one turn to its end, or attach to it')
    .argument('<agents.ts>', 'file that exports the agents')
    .option('--message <text>', 'what the user says')
    .option('--content <JSON>', 'in its place a Content: { "parts": [{ "text": "…" }, { "inlineData": … }] }')
    .option('--state <JSON>', 'an object: state that the message sets')
    .option(
      '--agent <name>',
      'agent that answers, one below another, too (default: the agent of rootAgent that acted last)',
    )
    .option('--session <id>', 'session to go on with (default: a new one)')
    .option('--user <id>', 'user of the session', 'user')
    .option('--app <name>', "app of the session (default: the file's name)")
    .option('--message-id <id>', 'one message id is one turn: given again, it attaches (default: a new one)')
    .option('--no-wait', 'where only people or jobs are waited for, exit with 3; the turn waits on')
    .option('--as <name>', 'approver who sends the message, and signs it and what is decided here')
    .option('--key <file.json>', "the approver's key, of holdfast keys create")
    .option('--json', 'JSON Lines on standard output, one ADK event per line')
    .option('--stop-server', 'stop the embedded Temporal server at the end (default: it stays up for its UI)')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../run/run-command.ts')).runCommand));
};

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

export const graph: AddCommand = (holdfast, act) => {
  holdfast
    .command('graph')
    .description('draw agents and tools as a Mermaid flowchart')
    .addArgument(new Argument('<agents.ts>', 'file that exports the agents'))
    .addOption(
      new Option('--direction <direction>', 'from left to right, or from top to bottom')
        .choices(['LR', 'TB'])
        .default('LR'),
    )
    .option('--json', 'one JSON value: { agents, tools, edges }')
    .action(act(async () => (await import('../graph/graph-command.ts')).graphCommand));
};
