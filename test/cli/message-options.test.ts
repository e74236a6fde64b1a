import { describe, expect, test } from 'vitest';
import { CliError } from '../../src/cli/cli-error.ts';
import { givenMessage, type MessageOptions } from '../../src/cli/run/message-options.ts';

describe('what the user says, on the command line', () => {
  test('a text, or a Content with whatever parts; a state delta beside it [cli.content]', () => {
    expect(givenMessage({ message: ' hi ' })).toEqual({ message: ' hi ' });
    const content = {
      role: 'user',
      parts: [{ text: 'see' }, { inlineData: { data: 'aGk=', mimeType: 'text/plain' } }],
    };
    const state = { 'user:plan': 'pro', cart: [] };
    expect(givenMessage({ content: JSON.stringify(content), state: JSON.stringify(state) })).toEqual({
      message: content,
      stateDelta: state,
    });
    expect(givenMessage({ content: '{"parts":[{"text":"hi"}]}' })).toEqual({
      message: { parts: [{ text: 'hi' }] },
    });
  });

  test.each<[MessageOptions, string]>([
    [{}, 'say what the user says: --message <text>, or --content <JSON>'],
    [{ message: '  ' }, '--message is empty: say what the agent is to do'],
    [{ message: 'hi', content: '{}' }, '--message and --content: give one of the two'],
    [{ content: 'secret word' }, '--content: expected JSON as one word of the shell'],
    [
      { content: '{"parts" 1}' },
      '--content: expected JSON as one word of the shell; it is wrong at position 9',
    ],
    [
      { content: '"hi"' },
      '--content: expected a Content { "parts": [ … ] }, got text, which goes with --message',
    ],
    [{ content: '[{"text":"hi"}]' }, '--content: expected text that isn’t blank, or a Content { role'],
    [{ content: '{"role":"model","parts":[{"text":"hi"}]}' }, "--content: role: expected 'user' or nothing"],
    [{ content: '{"text":"hi"}' }, '--content: parts: expected at least one part, got nothing'],
    [{ content: '{"parts":[]}' }, '--content: parts: expected at least one part'],
    [
      { content: '{"parts":["hi"]}' },
      '--content: parts[0]: expected a part with at least one field, got string',
    ],
    [
      { content: '{"parts":[{"text":"a"},{}]}' },
      '--content: parts[1]: expected a part with at least one field, got object',
    ],
    [{ content: '{"parts":[{"text":5}]}' }, '--content: parts[0].text: expected text'],
    [{ message: 'hi', state: '{' }, '--state: expected JSON as one word of the shell'],
    [{ message: 'hi', state: '[1]' }, '--state: expected an object, got a list of 1'],
  ])('%j is refused, without its content [cli.content]', (options, message) => {
    const refused = () => givenMessage(options);
    expect(refused).toThrow(CliError);
    expect(refused).toThrow(
      expect.objectContaining({ message: expect.stringContaining(message), code: 'HOLDFAST_COMMAND_LINE' }),
    );
    expect(refused).not.toThrow(/secret/);
  });
});
