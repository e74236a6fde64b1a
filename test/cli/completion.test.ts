import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Argument, Command, Option } from 'commander';
import { afterAll, describe, expect, test } from 'vitest';
import { COMPLETION_SCRIPTS, completionsOf } from '../../src/cli/completion.ts';
import { holdfastProgram } from '../../src/cli/program.ts';

const holdfast = await holdfastProgram();
const offered = (...words: string[]) => completionsOf(holdfast, words).map(({ word }) => word);

test('every command, and every option of each, is offered at its place', () => {
  const check = (command: Command, path: string[]) => {
    const help = command.createHelp();
    const options = help.visibleOptions(command).map(({ long }) => long);
    expect(offered(...path, '--')).toEqual(options.filter((each) => each !== undefined && each !== null));
    const shown = help.visibleCommands(command);
    const below = command.commands.filter((each) => shown.includes(each));
    if (below.length > 0) expect(offered(...path, '')).toEqual(below.map((each) => each.name()));
    for (const each of below) check(each, [...path, each.name()]);
  };
  check(holdfast, []);
  expect(offered('')).not.toContain('complete');
});

test('what has begun is completed, choices of options and arguments too', () => {
  expect(offered('ses')).toEqual(['sessions']);
  expect(offered('sessions', 're')).toEqual(['rewind', 'retry']);
  expect(offered('sessions', 'list', '--limit', '5', '--order', 'a')).toEqual(['asc']);
  expect(offered('sessions', 'list', '--order', '=', '')).toEqual(['asc', 'desc']);
  expect(offered('sessions', 'list', '--order', '=')).toEqual(['asc', 'desc']);
  expect(offered('completion', 'z')).toEqual(['zsh']);
  for (const line of [
    ['run', 'agents.ts', '--message', ''],
    ['sessions', 'show', ''],
    ['nonsense', 'x'],
  ])
    expect(offered(...line)).toEqual([]);
});

test('an argument that repeats, a short flag, and a hidden command', () => {
  const program = new Command('paint')
    .addArgument(new Argument('<colours...>').choices(['red', 'blue']))
    .addOption(new Option('-s, --size <size>', 'how large').choices(['s', 'xl']));
  expect(completionsOf(program, ['red', 'red', 'b'])).toEqual([{ word: 'blue', description: '' }]);
  expect(completionsOf(program, ['-s', 'x'])).toEqual([{ word: 'xl', description: '' }]);
  expect(completionsOf(program, ['-s'])).toEqual([{ word: '-s', description: 'how large' }]);
});

describe('in a shell', () => {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-completion-'));
  afterAll(() => rmSync(work, { recursive: true, force: true }));
  const command = join(work, 'holdfast');
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
  writeFileSync(join(work, 'agents of mine.ts'), '');
  const testIn = (shell: string) => {
    const isInstalled = spawnSync(shell, ['-c', 'exit 0']).status === 0;
    const named = isInstalled ? shell : `${shell}, which is not installed,`;
    const run = (program: string, ...args: string[]) =>
      execFileSync(shell, ['-c', program, ...args], { encoding: 'utf8' });
    return { named, run, test: test.skipIf(!isInstalled) };
  };
  const fileOf = (shell: keyof typeof COMPLETION_SCRIPTS) => {
    const file = join(work, `completion.${shell}`);
    writeFileSync(file, COMPLETION_SCRIPTS[shell]);
    return file;
  };

  const bash = testIn('bash');
  bash.test(`${bash.named} offers words, and files where there are none`, () => {
    const program = `source '${fileOf('bash')}'
COMP_WORDS=('${command}' "$@"); COMP_CWORD=$#; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p holdfast`;
    const lines = bash.run(program, 'bash', 'sessions', 're');
    expect(lines).toBe('rewind\nretry\ncomplete -o default -F _holdfast holdfast\n');
  });

  const zsh = testIn('zsh');
  zsh.test(`${zsh.named} reads its script`, () => {
    const program = `autoload -Uz compinit && compinit -u -D && source '${fileOf('zsh')}' && print $_comps[holdfast]`;
    expect(zsh.run(program)).toBe('_holdfast\n');
  });

  const fish = testIn('fish');
  fish.test(`${fish.named} offers words with their descriptions`, () => {
    const program = `source '${fileOf('fish')}'; complete -C '${command} sessions re'`;
    const lines = fish.run(program);
    expect(lines).toContain('retry\trun a turn anew from a call on, and follow it to its end\n');
  });
});
