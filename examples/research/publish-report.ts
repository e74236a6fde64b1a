import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { tool } from 'holdfast';
import { z } from 'zod';

/** The town's web site, as it were. */
export function siteFolder(): string {
  return resolve(process.env.RESEARCH_SITE || join('.holdfast', 'site'));
}

export const publishReport = tool({
  name: 'publish_report',
  description: 'Publishes a report on the web site of the town, for everybody to read.',
  parameters: z.object({
    slug: z.string().regex(/^[a-z][a-z0-9-]{2,40}$/, 'expected a name like free-buses'),
    title: z.string().min(1),
    lines: z.array(z.string().min(1)).min(1),
  }),
  summary: ({ slug }) => String(slug),

  requireConfirmation: true,
  confirmationHint: ({ title, lines }) => `Publish “${title}”, ${lines.length} lines, for everybody to read?`,
  approval: { expiresIn: '2 days' },

  execute: ({ slug, title, lines }, context) => {
    mkdirSync(siteFolder(), { recursive: true });
    const file = join(siteFolder(), `${slug}.md`);
    // Whole or not at all, and the same however often it is done.
    const written = `${file}.${context.idempotencyKey.replaceAll(/[^\w-]/g, '_')}`;
    writeFileSync(written, `# ${title}\n\n${lines.map((line) => `- ${line}\n`).join('')}`);
    renameSync(written, file);
    return { published: relative(process.cwd(), file) || file };
  },
});
