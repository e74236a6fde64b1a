import type { Place, Values } from './command-tree.ts';

export function zshCompletion(program: string, places: readonly Place[]): string {
  const name = `_${program.replace(/\W/g, '_')}`;
  return `#compdef ${program}
# zsh completion for ${program}; put it into a folder of $fpath as ${name}, or source it behind compinit:
#   source <(${program} completion zsh)
${name}() {
  local place='' expects='' word
  local -i position=0 index
  local -a found
  for ((index = 2; index < CURRENT; index++)); do
    word=\${words[index]}
    if [[ -n $expects ]]; then expects=''; continue; fi
    case "$place|$word" in
${[...valueCases(places), ...subcommandCases(places)].map((line) => `      ${line}`).join('\n')}
      *'|'-*) ;;
      *) (( position += 1 )) ;;
    esac
  done
  if [[ -n $expects ]]; then
    case "$expects" in
${optionValues(places)
  .map((line) => `      ${line}`)
  .join('\n')}
      *) ;;
    esac
    return
  fi
  if [[ \${words[CURRENT]} == -* ]]; then
    case "$place" in
${places.map((place) => `      ${quoted(place.path)}) found=(${optionsOf(place)}) ;;`).join('\n')}
    esac
    _describe -o option found
    return
  fi
  case "$place|$position" in
${places
  .flatMap(argumentCases)
  .map((line) => `    ${line}`)
  .join('\n')}
    *) ;;
  esac
}
if [[ \${funcstack[1]} == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program}; fi
`;
}

function valueCases(places: readonly Place[]): string[] {
  return places.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== undefined)
      .map(({ flags }) => {
        const patterns = flags.map((flag) => quoted(`${path}|${flag}`)).join('|');
        return `${patterns}) expects=${quoted(`${path}|${flags[0]}`)} ;;`;
      }),
  );
}

function subcommandCases(places: readonly Place[]): string[] {
  return places.flatMap(({ path, subcommands }) =>
    subcommands.map(
      ({ name }) => `${quoted(`${path}|${name}`)}) place=${quoted(`${path} ${name}`.trim())} ;;`,
    ),
  );
}

function optionValues(places: readonly Place[]): string[] {
  return places.flatMap(({ path, options }) =>
    options.flatMap(({ flags, value }) => {
      const action = value && completionOf(value);
      return action === undefined ? [] : [`${quoted(`${path}|${flags[0]}`)}) ${action} ;;`];
    }),
  );
}

function optionsOf({ options }: Place): string {
  return options
    .flatMap(({ flags, description }) => flags.map((flag) => described(flag, description)))
    .join(' ');
}

function argumentCases({ path, subcommands, arguments: all }: Place): string[] {
  if (subcommands.length > 0) {
    const found = subcommands.map(({ name, description }) => described(name, description)).join(' ');
    return [`${quoted(`${path}|0`)}) found=(${found}); _describe command found ;;`];
  }
  return all.flatMap(({ values, isVariadic }, index) => {
    const action = completionOf(values);
    return action === undefined ? [] : [`${quoted(`${path}|`)}${isVariadic ? '*' : index}) ${action} ;;`];
  });
}

function completionOf(values: Values): string | undefined {
  switch (values.kind) {
    case 'words':
      return `compadd -- ${values.words.map(quoted).join(' ')}`;
    case 'files':
      return '_files';
    case 'anything':
      return undefined;
  }
}

/** `name:description`, as `_describe` reads it. */
function described(name: string, description: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${description}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
