import type { MetricsExporterConfig } from '@temporalio/worker';
import { type HoldfastLogger, histogramBuckets } from '../../../worker/index.ts';
import { UsageError } from '../cli-error.ts';

/**
 * The exporter of metrics that the environment names by OpenTelemetry's variables; undefined where it names no collector.
 *
 * @see https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
export function otlpMetrics(env: NodeJS.ProcessEnv): MetricsExporterConfig | undefined {
  const http = forSignal(env, 'METRICS', 'PROTOCOL') !== 'grpc';
  const url = endpointOf(env, 'METRICS', http);
  if (url === undefined) return undefined;
  const headers = headersOf(forSignal(env, 'METRICS', 'HEADERS'));
  const metricsExportInterval = Number(env.OTEL_METRIC_EXPORT_INTERVAL) || 60_000;
  return { otel: { url, http, headers, metricsExportInterval, histogramBucketOverrides: histogramBuckets } };
}

/**
 * The exporter of spans, over HTTP, that the environment names; undefined where it names no collector. The exporter reads the other
 * variables itself. A platform may set them for every process: packages that are missing are a warning.
 */
export async function otlpTracing(env: NodeJS.ProcessEnv, { service, logger }: TracedProcess) {
  if (endpointOf(env, 'TRACES', true) === undefined) return undefined;
  if (forSignal(env, 'TRACES', 'PROTOCOL') === 'grpc') {
    logger.warn(
      'no spans are sent: they go by http/protobuf or http/json, and OTEL_EXPORTER_OTLP_PROTOCOL is grpc',
    );
    return undefined;
  }
  try {
    const { BatchSpanProcessor } = await import('@opentelemetry/sdk-trace-node');
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
    const { defaultResource, detectResources, envDetector, resourceFromAttributes } = await import(
      '@opentelemetry/resources'
    );
    const resource = defaultResource()
      .merge(resourceFromAttributes({ 'service.name': service }))
      .merge(detectResources({ detectors: [envDetector] }));
    return { spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())], resource };
  } catch (error) {
    if (!(error instanceof Error && Reflect.get(error, 'code') === 'ERR_MODULE_NOT_FOUND')) throw error;
    logger.warn(
      'no spans are sent: npm install @opentelemetry/sdk-trace-node @opentelemetry/exporter-trace-otlp-http',
    );
    return undefined;
  }
}

/** Makes the spans of this process those of `otlpTracing`, below the callers' by the W3C's Trace Context. */
export async function traceProcess(env: NodeJS.ProcessEnv, traced: TracedProcess) {
  const options = await otlpTracing(env, traced);
  if (options === undefined) return undefined;
  const { NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const provider = new NodeTracerProvider(options);
  provider.register();
  return provider;
}

interface TracedProcess {
  /** Its `service.name`, unless a variable gives one. */
  service: string;
  logger: HoldfastLogger;
}

type Signal = 'METRICS' | 'TRACES';

function endpointOf(env: NodeJS.ProcessEnv, signal: Signal, http: boolean): string | undefined {
  if (env.OTEL_SDK_DISABLED === 'true' || env[`OTEL_${signal}_EXPORTER`] === 'none') return undefined;
  const url = forSignal(env, signal, 'ENDPOINT');
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw new UsageError(
      `OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL such as http://collector:4318, got ${url}`,
    );
  if (env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] || url === undefined || !http) return url;
  return `${url.replace(/\/$/, '')}/v1/${signal.toLowerCase()}`;
}

/** The signal's own variable, else that of all. OpenTelemetry takes an empty one for none. */
function forSignal(
  env: NodeJS.ProcessEnv,
  signal: Signal,
  name: 'ENDPOINT' | 'PROTOCOL' | 'HEADERS',
): string | undefined {
  const all = {
    ENDPOINT: env.OTEL_EXPORTER_OTLP_ENDPOINT,
    PROTOCOL: env.OTEL_EXPORTER_OTLP_PROTOCOL,
    HEADERS: env.OTEL_EXPORTER_OTLP_HEADERS,
  };
  return env[`OTEL_EXPORTER_OTLP_${signal}_${name}`] || all[name] || undefined;
}

/** `name=value` by commas, percent-encoded. */
function headersOf(text = ''): Record<string, string> {
  return Object.fromEntries(
    text.split(',').flatMap((pair) => {
      const [name = '', ...value] = pair.split('=');
      return name.trim() === '' ? [] : [[name.trim(), decoded(value.join('=').trim())]];
    }),
  );
}

/** A value with a percent sign that begins no code is taken as it is. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
