/** SIGINT, SIGTERM and SIGHUP of `holdfast dev`. */
export interface DevSignals {
  /** What Ctrl-C does in place of ending. */
  onInterrupt: (() => void) | undefined;
  forget(): void;
}

export function devSignals(onEnd: () => void): DevSignals {
  const signals: DevSignals = {
    onInterrupt: undefined,
    forget() {
      process.off('SIGINT', interrupted);
      process.off('SIGTERM', onEnd);
      process.off('SIGHUP', onEnd);
    },
  };
  const interrupted = () => (signals.onInterrupt ?? onEnd)();
  process.on('SIGINT', interrupted);
  process.on('SIGTERM', onEnd);
  process.on('SIGHUP', onEnd);
  return signals;
}
