import type { DataConverter } from '@temporalio/common';
import type {
  WorkerOptions as TemporalWorkerOptions,
  WorkerInterceptors,
  WorkerPlugin,
  WorkerTuner,
} from '@temporalio/worker';
import { moduleFile } from '../src/own-files.ts';
import { DefinitionError } from '../src/schema/definition-error.ts';

/** Options of Temporal's worker that it gets as they are. */
export interface PassedOptions {
  /**
   * Give the same to the `Client` that the `HoldfastClient` uses. With `payloadCodecs` the messages of failures are encoded
   * too, unless a `failureConverterPath` is given, and log lines have no texts of models' and tools' errors.
   * `payloadConverterPath` is refused: workflows are prebuilt, and would not have it.
   */
  dataConverter?: DataConverter;
  /** Those of activities and clients. `workflowModules` are refused: workflows are prebuilt, and would not have them. */
  interceptors?: WorkerInterceptors;
  /** Workflow interceptors that they bring aren't used: workflows are prebuilt. */
  plugins?: readonly WorkerPlugin[];
  tuner?: WorkerTuner;
  /**
   * Name of this worker in the Temporal UI.
   *
   * @default '<pid>@<host>'
   */
  identity?: string;
  /** As in Temporal; not beside `tuner`. */
  maxConcurrentActivityTaskExecutions?: number;
  /** As in Temporal; not beside `tuner`. */
  maxConcurrentLocalActivityExecutions?: number;
  /** As in Temporal; not beside `tuner`. */
  maxConcurrentWorkflowTaskExecutions?: number;
}

const AS_THEY_ARE = [
  'dataConverter',
  'interceptors',
  'tuner',
  'identity',
  'maxConcurrentActivityTaskExecutions',
  'maxConcurrentLocalActivityExecutions',
  'maxConcurrentWorkflowTaskExecutions',
] as const;

export const PASSED_OPTIONS: readonly (keyof PassedOptions)[] = [...AS_THEY_ARE, 'plugins'];

/** @throws DefinitionError for what prebuilt workflows can't have. */
export function passedOptions(options: PassedOptions): Partial<TemporalWorkerOptions> {
  const given = AS_THEY_ARE.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]));
  const { dataConverter, interceptors, plugins = [] } = options;
  assertDataConverter(dataConverter);
  if ((interceptors?.workflowModules ?? []).length > 0) {
    throw new DefinitionError({
      owner: 'createWorker',
      field: 'interceptors.workflowModules',
      problem:
        'the workflows are prebuilt and can have no interceptors; use those of activities and clients, and leave these out',
    });
  }
  if (!Array.isArray(plugins)) {
    throw new DefinitionError({
      owner: 'createWorker',
      field: 'plugins',
      problem: 'expected a list of plugins',
    });
  }
  return { ...Object.fromEntries(given), plugins: [...plugins, lastPlugin] };
}

/** Sees the options as the user's plugins have made them. */
const lastPlugin: WorkerPlugin = {
  name: 'holdfast',
  configureWorker(options) {
    const { dataConverter } = options;
    assertDataConverter(dataConverter);
    const codecs = dataConverter?.payloadCodecs ?? [];
    if (codecs.length === 0 || dataConverter?.failureConverterPath !== undefined) return options;
    return {
      ...options,
      dataConverter: {
        ...dataConverter,
        failureConverterPath: moduleFile('worker/encoding-failure-converter'),
      },
    };
  },
};

function assertDataConverter(dataConverter: DataConverter | undefined): void {
  if (dataConverter?.payloadConverterPath === undefined) return;
  throw new DefinitionError({
    owner: 'createWorker',
    field: 'dataConverter.payloadConverterPath',
    problem:
      'the workflows are prebuilt and can have no converter of yours; use payloadCodecs, and leave it out',
  });
}
