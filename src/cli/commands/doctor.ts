import { defined } from '../../protocol/json.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';

export const doctor: AddCommand = (holdfast, exit) => {
  holdfast
    .command('doctor')
    .argument('[agents.ts]', 'file whose agents and toolsets are looked at, too')
    .description('find what is missing, and say what to do; starts and changes nothing')
    .option('--ask-model', 'ask Gemini a question of a few tokens')
    .option(
      '--task-queue <name>',
      'task queue whose workers are looked for (default: as the environment says)',
    )
    .option('--json', 'one JSON value: { ok, findings: [{ about, status, message, fix }] }')
    .option(...FOLDER_OPTION)
    .action(
      async (
        agents: string | undefined,
        options: { folder: string; askModel?: boolean; taskQueue?: string; json?: boolean },
      ) => {
        const { doctorCommand } = await import('../doctor/doctor-command.ts');
        exit(await doctorCommand({ ...options, ...defined({ agents }), env: process.env }));
      },
    );
};
