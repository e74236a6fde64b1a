import type { Command } from 'commander';

interface Completion {
  word: string;
  description: string;
}

/**
 * Words that may stand in place of the last one of a command line, with descriptions; none where only its user knows.
 *
 * @param words behind the program's own; the last one is being typed, and may be empty.
 */
export function completionsOf(program: Command, words: readonly string[]): Completion[] {
  let command = program;
  let option: Command['options'][number] | undefined;
  let position = 0;
  // Bash takes an equals sign for a word of its own.
  const typed = words.at(-1) === '=' ? '' : (words.at(-1) ?? '');
  for (const word of words.slice(0, -1).filter((each) => each !== '=')) {
    const named = subcommandsOf(command).find((each) => each.name() === word);
    if (option !== undefined) option = undefined;
    else if (named !== undefined) command = named;
    // A value that may be left out is not what the next word is taken for.
    else if (word.startsWith('-'))
      option = command.options.find((each) => each.required && [each.long, each.short].includes(word));
    else position += 1;
  }
  const offered = () => {
    if (option !== undefined) return option.argChoices?.map(undescribed);
    if (typed.startsWith('-')) return optionsOf(command);
    if (command.commands.length > 0)
      return subcommandsOf(command).map((each) => ({ word: each.name(), description: each.description() }));
    const { registeredArguments: all } = command;
    return (all[position] ?? all.findLast(({ variadic }) => variadic))?.argChoices?.map(undescribed);
  };
  return offered()?.filter(({ word }) => word.startsWith(typed)) ?? [];
}

function optionsOf(command: Command): Completion[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, short, description }) =>
      [long, short].flatMap((flag) => (flag ? [{ word: flag, description }] : [])),
    );
}

function subcommandsOf(command: Command): Command[] {
  const visible = command.createHelp().visibleCommands(command);
  return command.commands.filter((each) => visible.includes(each));
}

function undescribed(word: string): Completion {
  return { word, description: '' };
}

/** Scripts that ask `holdfast complete` for words, a tab between each and its description. Without any a shell offers files. */
export const COMPLETION_SCRIPTS = {
  // Of bash 3.2 and later, which macOS still has.
  bash: `# bash completion for holdfast; source it, for example from ~/.bashrc
_holdfast() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _holdfast holdfast
`,
  zsh: `#compdef holdfast
# zsh completion for holdfast; put it into a folder of $fpath as _holdfast, or source it behind compinit
_holdfast() {
  local lines=$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  [[ -z $lines ]] && { _files; return }
  local -a found=("\${(@f)\${lines//:/\\\\:}}")
  found=("\${(@)found/$'\\t'/:}")
  _describe holdfast found
}
if [[ \${funcstack[1]} == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`,
  fish: `# fish completion for holdfast; save it as ~/.config/fish/completions/holdfast.fish, or source it
complete -c holdfast -a '(set -l words (commandline -opc); $words[1] complete -- $words[2..-1] (commandline -ct) 2>/dev/null)'
`,
};
