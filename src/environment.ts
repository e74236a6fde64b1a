/** Variables of an environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables of an environment that are set. One that is empty or blank counts as not set: compose files, `.env` files and
 * CI systems pass a variable that nobody has given as an empty one.
 *
 * @param env defaults to the process's.
 */
export function setVariables(env: Environment = process.env): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => isSet(entry[1])),
  );
}

/**
 * The value of one variable; undefined where it isn't set, or is empty or blank.
 *
 * @param env defaults to the process's.
 */
export function variable(name: string, env: Environment = process.env): string | undefined {
  const value = env[name];
  return isSet(value) ? value : undefined;
}

/**
 * Removes these variables from the process where they are empty or blank: packages that read the environment themselves take an
 * empty one for a value.
 */
export function forgetEmptyVariables(names: readonly string[]): void {
  for (const name of names) if (!isSet(process.env[name])) delete process.env[name];
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '';
}
