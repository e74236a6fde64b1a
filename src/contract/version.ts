/** Version of everything that crosses Temporal: start arguments, signals, activity inputs and results. */
export const PROTOCOL_VERSION = 1;
