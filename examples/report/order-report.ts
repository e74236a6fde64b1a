import { LongRunningFunctionTool } from 'holdfast';
import { z } from 'zod';

/** Where the service is: that of `serve.ts`, unless said otherwise. */
function serviceUrl(jobId: string): string {
  const base = process.env.REPORT_SERVICE || 'http://127.0.0.1:8077';
  return `${base}/reports/${encodeURIComponent(jobId)}`;
}

export const orderReport = new LongRunningFunctionTool({
  name: 'order_report',
  description: 'Orders the sales report of a month. It takes a while; the result comes later by itself.',
  parameters: z.object({ month: z.string().regex(/^\d{4}-\d{2}$/, 'expected a month like 2026-06') }),
  summary: ({ month }) => String(month),
  deadline: '2 hours',
  silenceTimeout: '10m',

  execute: async ({ month }, context) => {
    // Under the id of the job: ordered again by a later attempt, it is the same report.
    const response = await fetch(serviceUrl(context.job.id), {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        month,
        callbackUrl: context.job.callbackUrl,
        token: context.job.token,
      }),
      signal: context.abortSignal,
    });
    if (!response.ok)
      throw new Error(`the report service answers ${response.status}: ${await response.text()}`);
    const { report } = (await response.json()) as { report: string };
    // A value: the model is told this and goes on. Without one the turn would wait here.
    return { status: 'ordered', report, month };
  },

  cancel: async (job) => {
    const response = await fetch(serviceUrl(job.id), { method: 'DELETE' });
    if (!response.ok && response.status !== 404) {
      throw new Error(`the report service answers ${response.status}: ${await response.text()}`);
    }
  },
});
