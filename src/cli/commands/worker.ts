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
