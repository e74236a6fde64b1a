import { type AddCommand, FOLDER_OPTION } from './command.ts';

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
