import type { Tracing, TracingOptions, TurnSpanProcessor } from '../activities/telemetry/tracing.ts';
import { DefinitionError } from '../src/schema/definition-error.ts';
import { assertKnownFields } from '../src/schema/known-fields.ts';
import * as option from '../src/schema/option-kinds.ts';
import { OptionReader } from '../src/schema/options.ts';

const OWNER = 'createWorker';
const FIELDS = ['spanProcessors', 'resource', 'ratio', 'contents'] satisfies (keyof TracingOptions)[];
const METHODS = ['onStart', 'onEnd', 'forceFlush', 'shutdown'] satisfies (keyof TurnSpanProcessor)[];

/** @throws DefinitionError naming the wrong field, or the package that is missing. */
export async function tracingOf(options: unknown): Promise<Tracing | undefined> {
  if (options === undefined) return undefined;
  assertKnownFields(OWNER, options, FIELDS, { field: 'tracing' });
  const read = new OptionReader(OWNER, options, 'tracing');
  const { spanProcessors, resource, ratio } = options;
  if (!Array.isArray(spanProcessors) || spanProcessors.length === 0) {
    throw invalid(
      'spanProcessors',
      'expected a list of span processors, for one [new BatchSpanProcessor(exporter)]',
    );
  }
  for (const [index, processor] of spanProcessors.entries()) {
    if (METHODS.every((method) => typeof processor?.[method] === 'function')) continue;
    throw invalid(`spanProcessors[${index}]`, 'expected a span processor of OpenTelemetry');
  }
  if (resource !== undefined && typeof (resource as { merge?: unknown } | null)?.merge !== 'function') {
    throw invalid(
      'resource',
      "expected what resourceFromAttributes({ 'service.name': … }) gives, or nothing",
    );
  }
  if (ratio !== undefined && !(typeof ratio === 'number' && ratio >= 0 && ratio <= 1)) {
    throw invalid('ratio', 'expected a number from 0 to 1');
  }
  return new (await tracingClass())({
    spanProcessors,
    ...(resource === undefined ? {} : { resource: resource as object }),
    ...(ratio === undefined ? {} : { ratio: ratio as number }),
    contents: option.flag(false)(read, 'contents'),
  });
}

/** Tracing programs have OpenTelemetry's SDK, which makes span processors; all others do without its 15 MB. */
async function tracingClass(): Promise<typeof Tracing> {
  try {
    return (await import('../activities/telemetry/tracing.ts')).Tracing;
  } catch (error) {
    if (!(error instanceof Error && Reflect.get(error, 'code') === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw invalid(
      'spanProcessors',
      'OpenTelemetry’s SDK is missing: npm install @opentelemetry/sdk-trace-base',
    );
  }
}

function invalid(field: string, problem: string): DefinitionError {
  return new DefinitionError({ owner: OWNER, field: `tracing.${field}`, problem });
}
