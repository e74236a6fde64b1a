import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Long enough that nothing else looks like it, and of characters that JSON and base64 leave alone. */
const plant = () => randomBytes(9).toString('hex');

/** A secret for each kind of content, in words that have to be escaped. */
export function plantedSecrets<Kind extends string>(kinds: readonly Kind[]): Record<Kind, string> {
  return Object.fromEntries(
    kinds.map((kind) => [kind, `${kind} “${plant()}” \\ "${plant()}"\n`] as const),
  ) as Record<Kind, string>;
}

/** Where bytes hold a planted secret: `<kind> in <place>, as <form>`, once for each form. */
export function leaksIn(
  secrets: Readonly<Record<string, string>>,
  places: Readonly<Record<string, Buffer>>,
): string[] {
  const leaks = Object.entries(places).flatMap(([place, bytes]) =>
    Object.entries(secrets).flatMap(([kind, secret]) =>
      formsOf(secret)
        .filter(({ needle }) => bytes.includes(needle))
        .map(({ form }) => `${kind} in ${place}, as ${form}`),
    ),
  );
  return [...new Set(leaks)];
}

/** Every file below a folder by its path from there, but those below `except`. */
export function filesBelow(folder: string, except: readonly string[]): Record<string, Buffer> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    paths
      .map((path) => [path.slice(folder.length + 1).replaceAll('\\', '/'), path] as const)
      .filter(([name]) => !except.some((excluded) => name === excluded || name.startsWith(`${excluded}/`)))
      .map(([name, path]) => [name, readFileSync(path)]),
  );
}

/**
 * The plants alone: they are the same in plain and in escaped text, and however a database cuts a value into pages, one of
 * them is whole.
 */
function formsOf(secret: string): { form: string; needle: string }[] {
  const plants = secret.match(/[0-9a-f]{18}/g) ?? [];
  if (plants.length === 0) throw new Error('nothing is planted in this secret');
  return plants.flatMap((planted) => [
    { form: 'text', needle: planted },
    { form: 'hex', needle: Buffer.from(planted).toString('hex') },
    ...base64Of(planted).map((needle) => ({ form: 'base64', needle })),
  ]);
}

/** How base64 of a longer text shows a part of it, wherever the part begins; both alphabets write these alike. */
function base64Of(planted: string): string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.from('x'.repeat(before) + planted)
      .toString('base64')
      .replace(/=+$/, '');
    // Characters that also hold bits of what stands before or behind.
    return encoded.slice(before === 0 ? 0 : before + 1, -2);
  });
}
