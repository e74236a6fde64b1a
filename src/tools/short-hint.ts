const LONGEST_HINT = 2_000;

/** A question as people are shown it: at most 2,000 characters. */
export function shortHint(text: string): string {
  return text.length <= LONGEST_HINT ? text : `${text.slice(0, LONGEST_HINT - 1).toWellFormed()}…`;
}
