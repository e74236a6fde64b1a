import { isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { assertKnownFields } from '../../schema/known-fields.ts';
import * as option from '../../schema/option-kinds.ts';
import { namesOf, OptionReader, type OptionsFor, type Resolved, readFrom } from '../../schema/options.ts';

/** The form of a spooled result, which decides about the tools that can query it. */
export type SpooledForm = 'text' | 'json' | 'csv' | 'binary';

/** A class whose tools query spooled results: `SpooledArtifact`, or one that extends it. */
export interface ArtifactConstructor<Tool = unknown> {
  /**
   * Makes the tools that query results of these forms.
   *
   * @param forms default: all
   */
  forgeTools(forms?: ReadonlySet<SpooledForm>): readonly Tool[];
}

/** How a tool's large results are kept as artifacts, of which the model gets a handle and a preview. */
export interface SpoolOptions<Tool = unknown> {
  /**
   * Bytes of a result, as JSON, above which it is spooled; at least 1,024.
   *
   * @default 16,384
   */
  over?: number;
  /**
   * Media type of results that are texts: `text/csv`, `text/markdown`.
   *
   * @default 'text/plain'
   */
  mimeType?: string;
  /** Forges the tools by which the model queries the results. @default SpooledArtifact */
  artifactConstructor?: ArtifactConstructor<Tool>;
}

/** A handle has about as many bytes. */
const LEAST_OVER = 1024;
const TEXT_TYPE = /^[a-z0-9][\w.+-]*\/[a-z0-9][\w.+-]*$/i;

export const SPOOL = {
  over: option.checked(option.count(16 * 1024), (over) =>
    over < LEAST_OVER ? `expected at least ${LEAST_OVER} bytes: a handle has about as many` : undefined,
  ),
  mimeType: (read, name) => {
    const type = read.value(name) ?? 'text/plain';
    if (typeof type === 'string' && TEXT_TYPE.test(type)) return type;
    return read.fail(name, `expected a type such as 'text/csv', got ${kindOf(type)}`);
  },
  artifactConstructor: option.custom(checkedConstructor),
} satisfies OptionsFor<SpoolOptions>;

/** {@link SpoolOptions} with their defaults. */
export interface ResolvedSpool<Tool = unknown> extends Resolved<typeof SPOOL> {
  readonly artifactConstructor?: ArtifactConstructor<Tool>;
}

/** The class whose query tools are being made, to learn whether they are right. */
let forging: string | undefined;

/**
 * Checks the option `spool` of a tool.
 *
 * @throws DefinitionError naming the field; for query tools whose results are spooled, too, since those would be queried in turn.
 */
export function resolveSpool<Tool>(owner: string, spool: unknown): ResolvedSpool<Tool> | undefined {
  if (spool === undefined || spool === false) return undefined;
  if (forging !== undefined) {
    const problem = `${forging}.forgeTools makes this tool to query spooled results, so its own must not be spooled: that is a cycle`;
    throw new DefinitionError({ owner, field: 'spool', problem });
  }
  const options = spool === true ? {} : spool;
  if (!isRecord(options)) {
    const problem = `expected true, or an object such as { over: 65_536 }, got ${kindOf(options)}`;
    throw new DefinitionError({ owner, field: 'spool', problem });
  }
  assertKnownFields(`${owner}: spool`, options, namesOf(SPOOL));
  return Object.freeze(readFrom(SPOOL, new OptionReader(owner, options, 'spool'))) as ResolvedSpool<Tool>;
}

function checkedConstructor(given: unknown, read: OptionReader): ArtifactConstructor {
  if (typeof given !== 'function' || !('forgeTools' in given) || typeof given.forgeTools !== 'function') {
    const hint = given === null ? '; do two modules import each other?' : '';
    return read.fail(
      'artifactConstructor',
      `expected a class that extends SpooledArtifact, got ${kindOf(given)}${hint}`,
    );
  }
  const made = given as unknown as ArtifactConstructor & { name: string };
  forging = made.name || 'artifactConstructor';
  try {
    const tools: unknown = made.forgeTools();
    if (!Array.isArray(tools)) {
      return read.fail(
        'artifactConstructor',
        `${forging}.forgeTools must return a list of tools, returned ${kindOf(tools)}`,
      );
    }
  } finally {
    forging = undefined;
  }
  return made;
}

/** The form of bytes of a media type. */
export function formOf(mimeType: string): SpooledForm {
  const type = (mimeType.split(';', 1)[0] ?? '').trim().toLowerCase();
  if (type === 'application/json' || type.endsWith('+json')) return 'json';
  if (type === 'text/csv' || type === 'text/tab-separated-values') return 'csv';
  return type.startsWith('text/') || TEXTUAL.has(type) || type.endsWith('+xml') ? 'text' : 'binary';
}

const TEXTUAL: ReadonlySet<string> = new Set([
  'application/xml',
  'application/yaml',
  'application/x-ndjson',
  'application/javascript',
  'application/sql',
]);
