import { tellJobAnswer } from '../jobs/end-job.ts';
import { jobLines } from '../jobs/job-text.ts';
import { nextJobCommands } from '../jobs/next-job-commands.ts';
import type { Chat } from './chat.ts';

/** Jobs of this session that go on. */
export async function showJobs(chat: Chat): Promise<true> {
  const { app, userId, sessionId } = chat.names;
  const running = await chat.client.jobs.list({ app, userId, sessionId });
  const lines = running.flatMap((row) => [
    ...jobLines(row, { temporal: [], args: [] }),
    ...nextJobCommands(row, chat.folder).map((command) => `  ${command}`),
  ]);
  chat.view.answer((lines.length === 0 ? ['no job goes on'] : lines).map((line) => `  ${line}`));
  return true;
}

export function isJobId(argument: string): boolean {
  return argument.startsWith('job-');
}

export async function cancelJob(chat: Chat, jobId: string): Promise<boolean> {
  const line = (text = '') => chat.view.answer([`  ${text}`]);
  return tellJobAnswer(await chat.client.jobs.cancel(jobId), { line, note: line }) === 0;
}
