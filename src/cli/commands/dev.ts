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
