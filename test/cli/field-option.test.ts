import { Command } from 'commander';
import { expect, test } from 'vitest';
import { fieldArgument, fieldOption, jsonField } from '../../src/cli/field-option.ts';
import { confirmRequest, listApprovals, provideCredential } from '../../src/contract/approvals.ts';
import { createKey } from '../../src/contract/keys.ts';
import { deleteSession } from '../../src/contract/sessions.ts';

const UNTOLD = 'what-nobody-is-to-read';

function parsed(...args: string[]): Record<string, unknown> {
  return new Command()
    .exitOverride()
    .addArgument(fieldArgument(createKey, 'name', '[name]'))
    .addOption(fieldOption(listApprovals, 'limit', '--limit <number>'))
    .addOption(fieldOption(listApprovals, 'kind', '--kind <kind>'))
    .addOption(fieldOption(confirmRequest, 'reason', '--reason <text>'))
    .addOption(
      fieldOption(provideCredential, 'credentialRef', '--credential <ref>', { help: 'never the secret' }),
    )
    .addOption(fieldOption(createKey, 'roles', '--role <roles>'))
    .addOption(fieldOption(deleteSession, 'withForks', '--with-forks'))
    .parse(args, { from: 'user' })
    .opts();
}

test('an option has description, choices, limits and default of its field', () => {
  const limit = fieldOption(listApprovals, 'limit', '--limit <number>');
  expect(limit).toMatchObject({ description: 'rows of a page, 1 to 1000', defaultValue: 100 });
  const kind = fieldOption(listApprovals, 'kind', '--kind <kind>');
  expect(kind.argChoices).toEqual(['confirmation', 'credential', 'input']);
  expect(fieldOption(confirmRequest, 'args', '--args <JSON>').description).toMatch(/at most 32 KiB$/);
  expect(parsed('--limit', '7', '--role', 'run,read')).toEqual({ limit: 7, role: ['run', 'read'] });
  expect(parsed('--with-forks')).toEqual({ limit: 100, withForks: true });
});

test.each([
  [['--limit', '0'], /^--limit: expected a whole number from 1 to 1000/],
  [['--limit', UNTOLD], /^--limit: expected a whole number from 1 to 1000/],
  [['--kind', UNTOLD], /^--kind: expected 'confirmation', 'credential' or 'input'/],
  [['--reason', 'x'.repeat(2_001)], /^--reason: 2001 characters, at most 2000 are allowed/],
  [['--credential', UNTOLD], /^--credential: expected the credentialRef .*: never the secret$/],
  [['--role', `run,${UNTOLD}`], /^--role: expected 'run', 'read', 'approve' or 'operate'/],
  [[''], /^\[name\]: expected a name .* got an empty string$/],
])('a wrong value is told of by its option, and is not quoted: %j', (args, problem) => {
  const refused = expect.objectContaining({
    code: 'HOLDFAST_COMMAND_LINE',
    message: expect.stringMatching(problem),
  });
  expect(() => parsed(...args)).toThrow(refused);
  expect(() => parsed(...args)).not.toThrow(UNTOLD);
});

test('JSON of an option is checked as its field is', () => {
  expect(jsonField(confirmRequest, 'args', '--args', '{"amount":1}')).toEqual({ amount: 1 });
  const given = (json: string) => () => jsonField(confirmRequest, 'args', '--args', json);
  expect(given('{')).toThrow('--args: expected JSON as one word of the shell');
  expect(given('[1]')).toThrow('--args: expected an object, got a list of 1');
  expect(given(JSON.stringify({ text: 'x'.repeat(40_000) }))).toThrow(
    /--args: \d+ bytes of JSON, at most 32768/,
  );
});
