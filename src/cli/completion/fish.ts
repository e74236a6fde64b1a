import type { CompletedOption, Place, Values } from './command-tree.ts';

export function fishCompletion(program: string, places: readonly Place[]): string {
  const at = `__${program.replace(/\W/g, '_')}_at`;
  return `# fish completion for ${program}; save it as ~/.config/fish/completions/${program}.fish, or source it:
#   ${program} completion fish | source
function ${at} --description 'Whether the command line stands at this command, and at this argument where one is given'
    set -l place ''
    set -l position 0
    set -l expects 0
    for word in (commandline -opc)[2..-1]
        if test $expects = 1
            set expects 0
            continue
        end
        switch "$place|$word"
${switchCases(places)
  .map((line) => `            ${line}`)
  .join('\n')}
            case '*|-*'
            case '*'
                set position (math $position + 1)
        end
    end
    test "$place" = "$argv[1]"; or return 1
    test (count $argv) = 1; or test "$argv[2]" = '*'; or test $position = "$argv[2]"
end
complete -c ${program} -f
${places.flatMap((place) => completions(program, at, place)).join('\n')}
`;
}

function switchCases(places: readonly Place[]): string[] {
  return places.flatMap(({ path, options, subcommands }) => [
    ...options
      .filter(({ value }) => value !== undefined)
      .flatMap(({ flags }) => [
        `case ${flags.map((flag) => quoted(`${path}|${flag}`)).join(' ')}`,
        '    set expects 1',
      ]),
    ...subcommands.flatMap(({ name }) => [
      `case ${quoted(`${path}|${name}`)}`,
      `    set place ${quoted(`${path} ${name}`.trim())}`,
    ]),
  ]);
}

function completions(program: string, at: string, place: Place): string[] {
  const complete = (condition: string) => `complete -c ${program} -n ${quoted(`${at} ${condition}`)}`;
  const here = doubled(place.path);
  return [
    ...place.subcommands.map(
      ({ name, description }) => `${complete(`${here} 0`)} -a ${quoted(name)} -d ${quoted(description)}`,
    ),
    ...place.options.map((option) => `${complete(here)} ${optionWords(option)}`),
    ...place.arguments.flatMap(({ values, isVariadic }, index) => {
      const action = completionOf(values);
      return action === '' ? [] : [`${complete(`${here} ${isVariadic ? doubled('*') : index}`)} ${action}`];
    }),
  ];
}

function optionWords({ flags, description, value }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const values = value === undefined ? '' : ` -r ${completionOf(value) || '-f'}`;
  return `${names.join(' ')}${values} -d ${quoted(description)}`;
}

function completionOf(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `-f -a ${quoted(values.words.join(' '))}`;
    case 'files':
      return '-F';
    case 'anything':
      return '';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Within a condition, which stands in single quotes. */
function doubled(text: string): string {
  return `"${text}"`;
}
