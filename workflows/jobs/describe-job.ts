import type { JobProgress } from '../../src/contract/jobs.ts';
import type { WaitingJob } from '../../src/protocol/job.ts';
import { code, placeOf, plain, sinceText, timeText } from '../turn/details-text.ts';

/** Lines of Markdown: what the job is, how far it has got, and how an operator sees more of it. */
export function jobLines({ jobId, tool, callKey, since, until, progress }: WaitingJob): string[] {
  return [
    `job of ${code(tool)} ${placeOf(callKey)}${sinceText(since)}${timeText(' until', until)}`,
    ...progressLines(progress),
    code(`holdfast jobs show ${jobId}`),
  ];
}

/** None where nothing was said. */
export function progressLines(progress: JobProgress | undefined): string[] {
  const { value, message = '' } = progress ?? {};
  const share = value === undefined ? '' : `${Math.round(value * 100)} %`;
  const text = [share, plain(message)].filter((part) => part !== '').join(' · ');
  return text === '' ? [] : [text];
}
