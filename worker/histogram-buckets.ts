const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 86_400];

/**
 * Bounds of Holdfast's histograms, in seconds, for `histogramBucketOverrides` of the runtime's metrics: those that the SDK
 * has for metrics that it doesn't know are meant for milliseconds, and would tell turns of 1 s and of 40 s alike.
 *
 * @example
 * const prometheus = { bindAddress: '127.0.0.1:9464', histogramBucketOverrides: histogramBuckets };
 * Runtime.install({ telemetryOptions: { metrics: { prometheus } } });
 */
export const histogramBuckets: Record<string, number[]> = {
  holdfast_turn_seconds: SECONDS,
  holdfast_child_run_seconds: SECONDS,
  holdfast_message_wait_seconds: SECONDS,
  holdfast_model_seconds: SECONDS,
  holdfast_call_seconds: SECONDS,
};
