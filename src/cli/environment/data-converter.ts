import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DataConverter } from '@temporalio/common';
import { CliError } from '../cli-error.ts';
import { importFile } from '../import-file.ts';

/**
 * The converter by which Temporal gets encoded payloads: the export `dataConverter` of the file that `HOLDFAST_DATA_CONVERTER` names;
 * undefined where it names none.
 *
 * @throws CliError where there is no such file or export, or no codec in it.
 */
export async function loadDataConverter(env: NodeJS.ProcessEnv): Promise<DataConverter | undefined> {
  const file = env.HOLDFAST_DATA_CONVERTER;
  if (file === undefined || file.trim() === '') return undefined;
  const path = resolve(file);
  if (!existsSync(path)) throw new CliError(`HOLDFAST_DATA_CONVERTER: ${file}: no such file`);
  const { dataConverter } = await importFile(file, path);
  if (isConverter(dataConverter)) return dataConverter;
  throw new CliError(
    `HOLDFAST_DATA_CONVERTER: ${file} has no data converter with codecs: write "export const dataConverter = { payloadCodecs: [codec] }"`,
  );
}

function isConverter(value: unknown): value is DataConverter {
  const codecs: unknown = value !== null && typeof value === 'object' && Reflect.get(value, 'payloadCodecs');
  return (
    Array.isArray(codecs) &&
    codecs.length > 0 &&
    codecs.every((codec) => typeof codec?.encode === 'function' && typeof codec?.decode === 'function')
  );
}
