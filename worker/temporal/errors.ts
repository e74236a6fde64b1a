import { codedError } from '../../src/contract/error.ts';
/** The environment, or the configuration file it names, can't be used to connect to Temporal. */
export class TemporalConfigInvalid extends codedError('HOLDFAST_TEMPORAL_CONFIG_INVALID') {}

/** One way that was tried to get a Temporal server, and why it led to nothing. */
export interface FailedAttempt {
  what: string;
  why: string;
}

/** No Temporal server is configured, and no executable of one could be found, downloaded or built. */
export class TemporalUnavailable extends codedError('HOLDFAST_TEMPORAL_UNAVAILABLE') {
  readonly attempts: readonly FailedAttempt[];

  constructor(headline: string, attempts: readonly FailedAttempt[], remedies: readonly string[]) {
    const tried = attempts.map(({ what, why }, index) => `  ${index + 1}. ${what}: ${indentRest(why)}`);
    super(
      [headline, ...tried, 'What to do, one of:', ...remedies.map((remedy) => `  - ${remedy}`)].join('\n'),
    );
    this.attempts = attempts;
  }
}

/** The embedded Temporal server ended, or didn't answer in time. */
export class TemporalStartFailed extends codedError('HOLDFAST_TEMPORAL_START_FAILED') {
  readonly logFile: string;

  constructor(reason: string, logFile: string, logTail: string) {
    const said = logTail
      ? `Its last lines:\n    ${logTail.replaceAll('\n', '\n    ')}`
      : 'It logged nothing.';
    super(`The embedded Temporal server ${reason}. ${said}\nLog: ${logFile}`);
    this.logFile = logFile;
  }
}

function indentRest(text: string): string {
  return text.replaceAll('\n', '\n     ');
}
