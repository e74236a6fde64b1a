import { type AddCommand, FOLDER_OPTION } from './command.ts';
import {
  logLevelSetting,
  logSetting,
  milliseconds,
  portNumber,
  setting,
  switchSetting,
  waitSetting,
  word,
} from './setting.ts';

export const worker: AddCommand = (holdfast, act) => {
  holdfast
    .command('worker')
    .description('run a worker in production, until SIGTERM')
    .argument('<agents.ts>', 'file that exports the agents')
    .addOption(
      setting(
        '--task-queue <name>',
        'task queue that it polls (default: holdfast with HOLDFAST_STORE)',
        'HOLDFAST_TASK_QUEUE',
        word,
      ),
    )
    .addOption(
      setting(
        '--shutdown-grace <duration>',
        'how long running tools may go on after SIGTERM',
        'HOLDFAST_SHUTDOWN_GRACE',
        milliseconds,
        '10s',
      ),
    )
    .addOption(waitSetting())
    .addOption(
      setting(
        '--health <port>',
        'serve /v1/health and /v1/ready, and nothing else, to other machines too',
        'HOLDFAST_HEALTH_PORT',
        portNumber,
      ),
    )
    .addOption(
      setting(
        '--metrics <port>',
        'serve /metrics for Prometheus, to other machines too',
        'HOLDFAST_METRICS_PORT',
        portNumber,
      ),
    )
    .addOption(logSetting())
    .addOption(logLevelSetting())
    .addOption(
      setting(
        '--transcript-url <template>',
        'where people read a session, linked from its run: a URL with {app}, {user} and {session}',
        'HOLDFAST_TRANSCRIPT_URL',
        word,
      ),
    )
    .addOption(
      switchSetting(
        '--mock-model',
        'without a key for Gemini, let a mock model on this machine answer with scripted words (default: off)',
        'HOLDFAST_MOCK_MODEL',
      ),
    )
    .option('--json', 'short for --log json')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../worker/worker-command.ts')).workerCommand));
};

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

export const codec: AddCommand = (holdfast, act) => {
  holdfast
    .command('codec')
    .description('decode payloads for the Temporal UI and CLI, on this machine, by HOLDFAST_DATA_CONVERTER')
    .addOption(
      setting(
        '--port <port>',
        'port of 127.0.0.1 that it listens on',
        'HOLDFAST_CODEC_PORT',
        portNumber,
        '8081',
      ),
    )
    .addOption(
      setting(
        '--token <text>',
        'last part of its address, which keeps others out (default: made at each start)',
        'HOLDFAST_CODEC_TOKEN',
        word,
      ),
    )
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../codec/codec-command.ts')).codecCommand));
};

export const stop: AddCommand = (holdfast, act) => {
  holdfast
    .command('stop')
    .description('stop the Temporal server that a command left running in this folder')
    .option('--json', 'one JSON value: { stopped }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../stop-command.ts')).stopCommand));
};

export const temporal: AddCommand = (holdfast, act) => {
  holdfast
    .command('temporal')
    .description('run the Temporal CLI on the server of the folder, or on the configured one')
    .argument('[arguments...]', 'of the Temporal CLI, as they are: workflow list --query …')
    .option(...FOLDER_OPTION)
    .allowUnknownOption()
    .passThroughOptions()
    .action(act(async () => (await import('../temporal/temporal-command.ts')).temporalCommand));
};
