import { stripTypeScriptTypes } from 'node:module';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/dev/slash-commands.ts';
import { holdfastProgram } from '../../src/cli/program.ts';
import { documents, proseOf, snippetsOf, textOf } from './documents.ts';

/** Words about what the writer of a page expected then: nothing finds them again once it is there. */
const ABOUT_LATER = /\bparts? \d|\blater (release|part|version)s?\b|\bcoming soon\b|\bnext release\b/i;

describe.each(documents().filter((path) => path !== 'CHANGELOG.md'))('%s', (path) => {
  test('says nothing of parts and later releases [docs.current]', () => {
    const lines = proseOf(textOf(path)).split('\n');
    expect(lines.filter((line) => ABOUT_LATER.test(line)).map((line) => line.slice(0, 120))).toEqual([]);
  });
});

test('dev.md has every command of the chat, and no other [docs.current]', () => {
  const table = textOf('docs/dev.md')
    .split('\n')
    .filter((line) => /^\| `\//.test(line));
  const named = table.flatMap((line) => {
    const [, first = ''] = line.split(/(?<!\\)\|/);
    return [...first.matchAll(/`\/(\w+)/g)].map(([, name]) => name);
  });
  expect([...new Set(named)].sort()).toEqual(COMMANDS.map(({ name }) => name).sort());
});

const holdfast = await holdfastProgram();

/** A program, its groups and its commands, by the words that name them. */
function placesOf(command: Command, words: readonly string[] = []): { path: string; command: Command }[] {
  const shown = command.createHelp().visibleCommands(command);
  const below = command.commands.filter((each) => shown.includes(each));
  return [
    { path: words.join(' '), command },
    ...below.flatMap((each) => placesOf(each, [...words, each.name()])),
  ];
}

describe('cli.md', () => {
  const text = textOf('docs/cli.md');
  const places = placesOf(holdfast);
  const leaves = places.filter(({ command }) => command.commands.length === 0);

  test('has no command and no option that there is not [docs.current]', () => {
    const flags = new Set(
      places.flatMap(({ command }) =>
        command
          .createHelp()
          .visibleOptions(command)
          .map(({ long }) => long),
      ),
    );
    const named = [...text.matchAll(/(?<![\w-])(--[a-z][a-z-]+)/g)].map(([, flag = '']) => flag);
    // Of the Temporal CLI, and of npm.
    const others = ['--workflow-id', '--output', '--query'];
    expect([...new Set(named)].filter((flag) => !flags.has(flag) && !others.includes(flag))).toEqual([]);
    const typed = [...text.matchAll(/^npx holdfast ([a-z][a-z -]*?)(?= [^a-z]| *$|\.| \w+[./-])/gm)];
    expect(typed.length).toBeGreaterThan(15);
    const paths = new Set(places.map(({ path }) => path));
    expect(
      typed.map(([, words = '']) => words.split(' ')[0] ?? '').filter((word) => !paths.has(word)),
    ).toEqual([]);
  });

  test('names every command [docs.current]', () => {
    expect(leaves.length).toBeGreaterThan(30);
    const missing = leaves.filter(({ path }) => !path.split(' ').every((word) => text.includes(word)));
    expect(missing.map(({ path }) => path)).toEqual([]);
  });
});

test('the scripted agent of the README pays back what it is asked for, and nothing else [docs.current]', () => {
  const code = snippetsOf(textOf('README.md')).find(({ name }) => name === 'agents.ts')?.code ?? '';
  const script = code
    .slice(code.indexOf('export const geminiScript'))
    .replace('export const geminiScript', 'return');
  const value = stripTypeScriptTypes(
    `const made = () => { ${script.replace('return: GeminiScript =', 'return')} };`,
  );
  const make = new Function('call', 'text', `${value} return made();`) as (
    call: (name: string) => string,
    text: (said: string) => string,
  ) => (request: object, info: { userText: string; functionResponses: object[] }) => string;
  const answer = make(
    (name) => `calls ${name}`,
    (said) => said,
  );
  const to = (userText: string) => answer({}, { userText, functionResponses: [] });
  expect(to('I want my 12 euros for order A-1 back')).toBe('calls refund');
  expect(to('hi')).not.toContain('calls');
});
