type Variables = Readonly<Record<string, string>>;

/** Of those who have set some and are not done, in the order of their coming. */
const held: Variables[] = [];
const before = new Map<string, string | undefined>();

/**
 * Sets variables of the process until the returned function is called. The newest values count; when the last holder is done, in
 * any order, the process has its own again.
 */
export function holdVariables(variables: Variables): () => void {
  for (const name of Object.keys(variables)) {
    if (!before.has(name)) before.set(name, process.env[name]);
  }
  held.push(variables);
  Object.assign(process.env, variables);
  return () => {
    if (!held.includes(variables)) return;
    held.splice(held.indexOf(variables), 1);
    for (const name of Object.keys(variables)) {
      const holder = held.findLast((other) => Object.hasOwn(other, name));
      set(name, holder === undefined ? before.get(name) : holder[name]);
      if (holder === undefined) before.delete(name);
    }
  };
}

function set(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
