import { listCorpora, removeCorpus } from '../../contract/corpora.ts';
import { fieldArgument, fieldOption, summaryOf } from '../field-option.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';
import { ONLY_APP } from './naming.ts';

export const corpora: AddCommand = (group, act) => {
  const ofApp = (name: string) =>
    group
      .command(name)
      .addOption(fieldOption(removeCorpus, 'app', '--app <name>', { help: ONLY_APP }))
      .option(...FOLDER_OPTION);

  ofApp('load')
    .description('load a folder into a corpus: what has changed in it since the last time')
    .argument('<folder>', 'its files are text, Markdown, HTML and PDF')
    .addOption(fieldOption(removeCorpus, 'corpus', '--corpus <name>').makeOptionMandatory())
    .option(
      '--agents <file>',
      "the app's agents, whose memory has embeddings: passages are found by meaning, too",
    )
    .option('--json', 'one JSON value: { loaded, unchanged, removed, skipped }')
    .action(act(async () => (await import('../corpora/corpus-commands.ts')).loadCorpus));

  ofApp('list')
    .description(summaryOf(listCorpora))
    .option('--json', 'one JSON value: { corpora }')
    .action(act(async () => (await import('../corpora/corpus-commands.ts')).listCorpora));

  ofApp('remove')
    .description(summaryOf(removeCorpus))
    .addArgument(fieldArgument(removeCorpus, 'corpus', '<corpus>'))
    .addArgument(fieldArgument(removeCorpus, 'path', '[document]'))
    .option('--yes', 'without asking')
    .option('--json', 'one JSON value: { removed }')
    .action(act(async () => (await import('../corpora/corpus-commands.ts')).removeCorpus));
};
