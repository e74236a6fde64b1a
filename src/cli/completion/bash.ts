import type { CompletedOption, Place, Values } from './command-tree.ts';

/** Of bash 3.2 and later, which macOS still has. */
export function bashCompletion(program: string, places: readonly Place[]): string {
  const name = `_${program.replace(/\W/g, '_')}`;
  return `# bash completion for ${program}; source it, for example from ~/.bashrc:
#   source <(${program} completion bash)
${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} place='' expects='' position=0 index word
  if [[ $cur == '=' ]]; then cur=''; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if [[ $word == '=' ]]; then continue; fi
    if [[ -n $expects ]]; then expects=''; continue; fi
    case "$place|$word" in
${[...valueCases(places), ...subcommandCases(places)].map((line) => `      ${line}`).join('\n')}
      *\\|-*) ;;
      *) position=$((position + 1)) ;;
    esac
  done
  COMPREPLY=()
  if [[ -n $expects ]]; then
    case "$expects" in
${completedValues(places)
  .map((line) => `      ${line}`)
  .join('\n')}
    esac
    return
  fi
  if [[ $cur == -* ]]; then
    case "$place" in
${places.map(({ path, options }) => `      ${quoted(path)}) ${words(options.flatMap(({ flags }) => flags))} ;;`).join('\n')}
    esac
    return
  fi
  case "$place|$position" in
${places
  .flatMap(argumentCases)
  .map((line) => `    ${line}`)
  .join('\n')}
  esac
}
${name}_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F ${name} ${program}
`.replaceAll('FILES', `${name}_files`);
}

function valueCases(places: readonly Place[]): string[] {
  return places.flatMap(({ path, options }) =>
    options.filter(hasValue).map((option) => {
      const patterns = option.flags.map((flag) => quoted(`${path}|${flag}`)).join('|');
      return `${patterns}) expects=${quoted(`${path}|${option.flags[0]}`)} ;;`;
    }),
  );
}

function subcommandCases(places: readonly Place[]): string[] {
  return places.flatMap(({ path, subcommands }) =>
    subcommands.map(({ name }) => {
      return `${quoted(`${path}|${name}`)}) place=${quoted(`${path} ${name}`.trim())} ;;`;
    }),
  );
}

function completedValues(places: readonly Place[]): string[] {
  const cases = places.flatMap(({ path, options }) =>
    options.filter(hasValue).flatMap(({ flags, value }) => {
      const action = completionOf(value);
      return action === undefined ? [] : [`${quoted(`${path}|${flags[0]}`)}) ${action} ;;`];
    }),
  );
  return [...cases, '*) ;;'];
}

function argumentCases({ path, subcommands, arguments: all }: Place): string[] {
  if (subcommands.length > 0) {
    return [`${quoted(`${path}|0`)}) ${words(subcommands.map(({ name }) => name))} ;;`];
  }
  return all.flatMap(({ values, isVariadic }, index) => {
    const action = completionOf(values);
    if (action === undefined) return [];
    return [`${quoted(`${path}|`)}${isVariadic ? '*' : index}) ${action} ;;`];
  });
}

function hasValue(option: CompletedOption): option is CompletedOption & { value: Values } {
  return option.value !== undefined;
}

function completionOf(values: Values): string | undefined {
  switch (values.kind) {
    case 'words':
      return words(values.words);
    case 'files':
      return 'FILES';
    case 'anything':
      return undefined;
  }
}

function words(all: readonly string[]): string {
  return `COMPREPLY=($(compgen -W ${quoted(all.join(' '))} -- "$cur"))`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
