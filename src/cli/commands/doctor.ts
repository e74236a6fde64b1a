import { defined } from '../../protocol/json.ts';
import type { DoctorOptions } from '../doctor/doctor-command.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';

export const doctor: AddCommand = (holdfast, act) => {
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
      act(async () => {
        const { doctorCommand } = await import('../doctor/doctor-command.ts');
        return (agents: string | undefined, options: DoctorOptions) =>
          doctorCommand({ ...options, ...defined({ agents }) });
      }),
    );
};
