import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Notifier } from 'holdfast';

export interface Mail {
  to: string;
  requestId: string;
  subject: string;
  link: string;
}

/** Writes a mail to each approver into a file, each with a link of their own: a mail server would be given the same. */
export function mailNotifier(file: string): Notifier {
  return {
    name: 'mail',
    async notify(requests, why, { linkFor }) {
      for (const request of requests) {
        const { approvers = [], escalateTo = [] } = request.terms;
        for (const to of why === 'opened' ? approvers : escalateTo) {
          const link = linkFor(request, to);
          if (link === undefined) continue;
          const mail: Mail = { to, requestId: request.requestId, subject: request.hint, link };
          appendFileSync(file, `${JSON.stringify(mail)}\n`, { mode: 0o600 });
        }
      }
    },
  };
}

/** The oldest first. */
export function mailsIn(file: string): Mail[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.filter((line) => line !== '').map((line): Mail => JSON.parse(line));
}
