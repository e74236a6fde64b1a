/** SIGINT and SIGTERM: the first asks for an end, the second for one at once. */
export interface StopSignals {
  first: Promise<void>;
  second: Promise<void>;
  forget(): void;
}

export function stopSignals(): StopSignals {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let count = 0;
  const listener = () => {
    count += 1;
    (count === 1 ? first : second).resolve();
  };
  process.on('SIGINT', listener);
  process.on('SIGTERM', listener);
  return {
    first: first.promise,
    second: second.promise,
    forget() {
      process.off('SIGINT', listener);
      process.off('SIGTERM', listener);
    },
  };
}
