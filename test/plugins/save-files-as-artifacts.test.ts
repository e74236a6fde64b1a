import { afterEach, expect, test, vi } from 'vitest';
import type { Content } from '../../src/events/content.ts';
import { SaveFilesAsArtifactsPlugin } from '../../src/plugins/save-files-as-artifacts-plugin.ts';
import { Context } from '../../src/tools/context.ts';
import { contextOf, recordingLogger } from './plugin-scene.ts';

afterEach(() => vi.restoreAllMocks());

const { invocationContext } = contextOf();
const file = (displayName?: string) => ({
  inlineData: { data: 'aGk=', mimeType: 'text/plain', ...(displayName === undefined ? {} : { displayName }) },
});
const message = (...parts: Content['parts'] & object): Content => ({ role: 'user', parts });

test('without an artifact service the message stays as it is, and that is told once [plugin.saveFiles]', async () => {
  const logger = recordingLogger();
  const plugin = new SaveFilesAsArtifactsPlugin({ logger });
  const userMessage = message({ text: 'see' }, file('a.txt'), file());
  for (let turn = 0; turn < 2; turn++) {
    expect(await plugin.onUserMessageCallback({ invocationContext, userMessage })).toBeUndefined();
  }
  expect(logger.lines.map(({ message }) => message)).toEqual([
    '[save_files_as_artifacts_plugin] there is no artifact service: files stay in the messages',
  ]);
});

test('files become artifacts, placeholders name them; one that can’t be saved stays [plugin.saveFiles]', async () => {
  const logger = recordingLogger();
  const saved: [string, unknown][] = [];
  vi.spyOn(Context.prototype, 'saveArtifact').mockImplementation(async (name, artifact) => {
    if (name === 'full.txt') throw new Error('no room');
    return saved.push([name, artifact]) - 1;
  });
  const plugin = new SaveFilesAsArtifactsPlugin({ logger });
  const userMessage = message({ text: 'see' }, file('a.txt'), file(), file('full.txt'));
  const replaced = await plugin.onUserMessageCallback({ invocationContext, userMessage });
  expect(replaced).toEqual(
    message(
      { text: 'see' },
      { text: '[Uploaded Artifact: "a.txt"]' },
      { text: '[Uploaded Artifact: "artifact_e-1_2"]' },
      file('full.txt'),
    ),
  );
  expect(saved).toEqual([
    ['a.txt', file('a.txt')],
    ['artifact_e-1_2', file()],
  ]);
  expect(logger.lines).toEqual([
    {
      level: 'warn',
      message: '[save_files_as_artifacts_plugin] a file was not saved',
      attributes: { invocationId: 'e-1', part: 3, error: 'no room' },
    },
  ]);
  const plain = message({ text: 'no files' });
  expect(await plugin.onUserMessageCallback({ invocationContext, userMessage: plain })).toBeUndefined();
});
