import { readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { SourceMap } from 'node:module';
import { pathToFileURL } from 'node:url';
import { bundlePath } from '../worker/bundle.ts';

/**
 * Causes of CPU time, known by a function and its file: `name file`. A sample belongs to the nearest frame that a row knows, from the
 * innermost one outwards. So native functions, Node's and libraries' count for their callers, unless they have a row.
 */
const CAUSES: readonly (readonly [cause: string, frame: RegExp])[] = [
  ['GC', /^\(garbage collector\)/],
  ['native, in no function', /^\(program\)/],
  [
    'SDK: promise hook',
    /^(\(anonymous\)|init|settled|getActivator|cutoff\w*|format\w*) .*vm-shared\.js|^cutoffStackTrace |prepareStackTrace|promise_hooks/,
  ],
  ['SDK: VM and its watchdog', /^runInContext |__TEMPORAL_CALL_INTO_SCOPE|evalmachine/],
  ['ours, in the workflow', / bundle:(workflows|src)\//],
  ['SDK, in the workflow', / bundle:|workflow-bundle/],
  [
    'messages between threads',
    /^(postMessage|postResponse|structuredClone) |worker\/lib\/workflow\/threaded-vm/,
  ],
  ['SDK: metadata of log lines', /^(resolveMetadata|filterNullAndUndefined) |common\/lib\/logger\.js/],
  ['store client', /node_modules\/(pg|pg-[\w-]+|postgres-[\w-]+|kysely)\/| src\/store\//],
  ['SHA-256 in JavaScript', /@noble\/hashes/],
  ['SDK: Core bridge', /core-bridge\//],
  ['Temporal client', /@temporalio\/client\/|@grpc\//],
  ['SDK: worker, payloads', /@temporalio\/|node_modules\/(rxjs|protobufjs|long|@protobufjs)\//],
  ['bench', / bench\//],
  ['ours', / (src|activities|worker|workflows)\//],
];

const ROOT = new URL('..', import.meta.url).href;

export interface BusySample {
  cause: string;
  /** Innermost function and its file. */
  frame: string;
}

/** Samples of a profile, without those in which the thread had nothing to do. */
export function busySamples({ nodes, samples = [] }: Profiler.Profile): BusySample[] {
  const parents = new Map(
    nodes.flatMap((node) => node.children?.map((child) => [child, node.id] as const) ?? []),
  );
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, frameOf(callFrame)]));
  const causeOf = (node: number | undefined): string => {
    if (node === undefined) return 'rest';
    const [cause] = CAUSES.find(([, known]) => known.test(frames.get(node) ?? '')) ?? [];
    return cause ?? causeOf(parents.get(node));
  };
  const busy = new Map(
    nodes.flatMap(({ id }) => {
      const frame = frames.get(id) ?? '';
      return frame.startsWith('(idle)') ? [] : [[id, { cause: causeOf(id), frame }] as const];
    }),
  );
  return samples.flatMap((id) => busy.get(id) ?? []);
}

const bundle = pathToFileURL(bundlePath());
let sourceMap: SourceMap | undefined;

function frameOf({
  functionName,
  url,
  lineNumber,
  columnNumber,
}: Profiler.Profile['nodes'][0]['callFrame']): string {
  return `${functionName || '(anonymous)'} ${url === bundle.href ? `bundle:${sourceOf(lineNumber, columnNumber)}` : url.replace(ROOT, '')}`;
}

/** The file of our workflow bundle's sources that a place of it comes from. */
function sourceOf(line: number, column: number): string {
  if (sourceMap === undefined) {
    const [, encoded = ''] = /sourceMappingURL=data:[^,]*,(\S+)/.exec(readFileSync(bundle, 'utf8')) ?? [];
    sourceMap = new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString()));
  }
  const entry = sourceMap.findEntry(line, column);
  return 'originalSource' in entry ? entry.originalSource : '';
}
