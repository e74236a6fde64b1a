import type { AddCommand } from './command.ts';
import { logLevelSetting, logSetting, portNumber, setting, waitSetting, word } from './setting.ts';

export const gateway: AddCommand = (holdfast, act) => {
  holdfast
    .command('gateway')
    .description('serve the HTTP gateway for a server and a store elsewhere')
    .addOption(
      setting('--port <port>', 'port that it listens on', 'HOLDFAST_GATEWAY_PORT', portNumber, '8080'),
    )
    .addOption(
      setting(
        '--host <address>',
        'address that it listens on; other than loopback with a public URL',
        'HOLDFAST_GATEWAY_HOST',
        word,
        '127.0.0.1',
      ),
    )
    .addOption(
      setting(
        '--config <file.ts>',
        'file that exports the gateway’s configuration as gateway',
        'HOLDFAST_GATEWAY_CONFIG',
        word,
      ),
    )
    .addOption(
      setting(
        '--task-queue <name>',
        'task queue of the turns that it starts',
        'HOLDFAST_TASK_QUEUE',
        word,
        'holdfast',
      ),
    )
    .addOption(waitSetting())
    .addOption(logSetting())
    .addOption(logLevelSetting())
    .option(
      '--json',
      'JSON on standard output, `{ url, token }` where the token was made here, and --log json',
    )
    .addHelpText(
      'after',
      '\nCallers show API keys (holdfast keys create); programs of this machine may show the token HOLDFAST_GATEWAY_TOKEN. Where ' +
        'nothing says where other machines reach the gateway (HOLDFAST_PUBLIC_URL), a token is made at each start, and printed.',
    )
    .action(act(async () => (await import('../gateway/gateway-command.ts')).gatewayCommand));
};
