import type { ProviderError } from './provider-error.ts';

/** Longer waits are taken as this: a day. */
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;

/**
 * How long the provider asks to wait, in milliseconds: `retry-after-ms`, else `retry-after` (seconds or an HTTP
 * date), else `google.rpc.RetryInfo` in the error's details. At most a day; undefined where nothing readable is
 * said, or no wait.
 */
export function retryAfterMs(
  headers: Headers | undefined,
  error: ProviderError | undefined,
): number | undefined {
  return (
    wait(decimal(headers?.get('retry-after-ms'))) ??
    wait(seconds(headers?.get('retry-after')) ?? untilDate(headers)) ??
    wait(seconds(retryDelay(error)?.replace(/s$/, '')))
  );
}

function decimal(value: string | null | undefined): number | undefined {
  return value && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

function seconds(value: string | null | undefined): number | undefined {
  const amount = decimal(value);
  return amount === undefined ? undefined : amount * 1000;
}

/** By the provider's clock, where it says what time it is: the wait holds for all workers. */
function untilDate(headers: Headers | undefined): number | undefined {
  const until = timeIn(headers?.get('retry-after'));
  return until === undefined ? undefined : until - (timeIn(headers?.get('date')) ?? Date.now());
}

function timeIn(value: string | null | undefined): number | undefined {
  const time = value?.trim().endsWith('GMT') ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** No wait at all is as good as nothing said: the caller's own back-off must hold, or a limited call would spin. */
function wait(ms: number | undefined): number | undefined {
  return ms === undefined || ms <= 0 ? undefined : Math.min(Math.ceil(ms), LONGEST_WAIT_MS);
}

function retryDelay(error: ProviderError | undefined): string | undefined {
  for (const detail of error?.details ?? []) {
    if (typeof detail.retryDelay === 'string' && `${detail['@type']}`.endsWith('google.rpc.RetryInfo')) {
      return detail.retryDelay;
    }
  }
  return undefined;
}
