import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Argument, Command, Option } from 'commander';
import { afterAll, describe, expect, test } from 'vitest';
import { placesOf } from '../../src/cli/completion/command-tree.ts';
import { completionScript } from '../../src/cli/completion/completion-script.ts';
import { holdfastProgram } from '../../src/cli/program.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-completion-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));
const script = join(work, 'holdfast.bash');
const holdfast = await holdfastProgram();
writeFileSync(script, completionScript('bash', holdfast));
writeFileSync(join(work, 'agents.ts'), '');
mkdirSync(join(work, 'agents of mine'));

const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0;

/** The words that bash offers for the last word of each line. One bash answers for all of them. */
function offeredFor(lines: readonly string[][]): string[][] {
  const program = `source '${script}'
while IFS= read -r -d '' count; do
  COMP_WORDS=(); for ((i = 0; i < count; i++)); do IFS= read -r -d '' word; COMP_WORDS+=("$word"); done
  COMP_CWORD=$((count - 1)); COMPREPLY=()
  _holdfast
  printf '%s\\n' "\${COMPREPLY[@]}"; printf '\\0'
done`;
  const input = lines.map((words) => [words.length + 1, 'holdfast', ...words, ''].join('\0')).join('');
  const printed = execFileSync('bash', ['-c', program], { cwd: work, encoding: 'utf8', input });
  return printed
    .split('\0')
    .slice(0, -1)
    .map((answer) => answer.split('\n').filter((line) => line !== ''));
}

const offered = (...words: string[]) => offeredFor([words])[0] ?? [];

describe.skipIf(!has('bash'))(has('bash') ? 'in bash' : 'in bash, which is not installed', () => {
  test('every command, and every option of each, is offered at its place', () => {
    const places = placesOf(holdfast);
    const words = places.map(({ path }) => (path === '' ? [] : path.split(' ')));
    const commands = offeredFor(words.map((line) => [...line, '']));
    const flags = offeredFor(words.map((line) => [...line, '-']));
    for (const [index, { path, subcommands, options }] of places.entries()) {
      if (subcommands.length > 0) {
        expect(commands[index], path).toEqual(subcommands.map(({ name }) => name));
      }
      expect(flags[index], path).toEqual(options.flatMap((option) => option.flags));
    }
  });

  test('what has begun is completed, choices of options and arguments too', () => {
    expect(offered('ses')).toEqual(['sessions']);
    expect(offered('sessions', 're')).toEqual(['rewind', 'retry']);
    expect(offered('sessions', 'list', '--or')).toEqual(['--order']);
    expect(offered('sessions', 'list', '--order', '')).toEqual(['asc', 'desc']);
    expect(offered('sessions', 'list', '--limit', '5', '--order', 'a')).toEqual(['asc']);
    expect(offered('sessions', 'list', '--order', '=', '')).toEqual(['asc', 'desc']);
    expect(offered('completion', 'z')).toEqual(['zsh']);
  });

  test('files where files are wanted, names with blanks included; nothing where only its user knows', () => {
    expect(offered('graph', 'ag').sort()).toEqual(['agents of mine', 'agents.ts']);
    expect(offered('doctor', '--folder', 'agents')).toEqual(
      expect.arrayContaining(['agents of mine', 'agents.ts']),
    );
    expect(offered('replay', 'one.json', 'agents.').sort()).toEqual(['agents.ts']);
    expect(offered('run', 'agents.ts', '--message', '')).toEqual([]);
    expect(offered('sessions', 'show', '')).toEqual([]);
    expect(offered('worker', '--mock-model', 'agents.').sort()).toEqual(['agents.ts']);
  });
});

test('a program of another name and shape: nothing is written down twice', () => {
  const program = new Command('left-over').description("it's odd");
  program
    .command('paint')
    .description("the painter's work: all of it")
    .addArgument(new Argument('<colour>').choices(['red', 'blue']))
    .addOption(new Option('-s, --size <size>', "how large it's").choices(['s', 'xl']))
    .option('--dry', 'only look');
  program.command('secret', { hidden: true });
  const [top, paint] = placesOf(program);
  expect(top?.subcommands.map(({ name }) => name)).toEqual(['paint']);
  expect(paint).toMatchObject({
    path: 'paint',
    arguments: [{ values: { kind: 'words', words: ['red', 'blue'] }, isVariadic: false }],
  });
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const text = completionScript(shell, program);
    for (const word of ['left-over', 'paint', 'size', 'dry', 'red', 'blue', 'xl'])
      expect(text).toContain(word);
    expect(text).not.toContain('secret');
    if (has(shell)) {
      const file = join(work, `left-over.${shell}`);
      writeFileSync(file, text);
      expect(spawnSync(shell, ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    }
  }
});
