import { type AddCommand, FOLDER_OPTION } from './command.ts';
import { portNumber, setting, word } from './setting.ts';

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
