import { supportAgent, type TemplateAgent } from './template-agent.ts';
import { mcpAgent } from './template-mcp.ts';
import { openApiAgent } from './template-openapi.ts';

/** Projects that `holdfast init` can make. */
export const TEMPLATES = ['basic', 'mcp', 'openapi', 'openai'] as const;

export type Template = (typeof TEMPLATES)[number];

/**
 * The files that `holdfast init` writes, by path; `holdfast` is the version that the project requires. Sources are indented with two spaces
 * and take Node's type stripping.
 */
export function templateFiles(names: {
  project: string;
  holdfast: string;
  template: Template;
}): Record<string, string> {
  const { files, dependencies, about } = AGENTS_OF[names.template];
  return {
    'package.json': manifest(names, dependencies),
    'tsconfig.json': TSCONFIG,
    ...files,
    '.env.example': environment(names.template),
    '.gitignore': GITIGNORE,
    'README.md': readme(names.project, about),
  };
}

function manifest(
  { project, holdfast }: { project: string; holdfast: string },
  more: Record<string, string>,
): string {
  const content = {
    name: project,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=22.18' },
    scripts: {
      dev: `${HOLDFAST} dev agents.ts`,
      start: `${HOLDFAST} worker agents.ts`,
      test: 'node --test',
    },
    dependencies: { ...more, holdfast, zod: '^4.2.0' },
    devDependencies: { '@types/node': '^24.0.0', typescript: '>=5.8' },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** The command by its file, so that Node reads `.env` first. */
const HOLDFAST = 'node --env-file-if-exists=.env node_modules/holdfast/bin/holdfast.js';

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2024",
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noEmit": true,
    "skipLibCheck": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "allowImportingTsExtensions": true
  }
}
`;

const orderAgents = (model: string) => `import { LlmAgent, tool } from 'holdfast';
import { calls, type GeminiScript, text } from 'holdfast/testing';
import { z } from 'zod';

const orders = new Map([
  ['A-1', { status: 'delivered', cents: 4200 }],
  ['A-2', { status: 'shipped', cents: 1850 }],
]);

const findOrder = tool({
  name: 'find_order',
  description: 'Finds an order by its id.',
  parameters: z.object({ id: z.string() }),
  // Five attempts of ten seconds each; what failed is tried again after half a second, then after longer.
  timeout: '10s',
  retry: { maximumAttempts: 5, initialInterval: '500ms' },
  execute: ({ id }) => orders.get(id) ?? { error: \`there is no order \${id}\` },
});

const refund = tool({
  name: 'refund',
  description: 'Pays the price of an order back.',
  parameters: z.object({ id: z.string() }),
  // A refund whose worker died in the middle is not repeated blindly: the model is told that it may have happened.
  idempotent: false,
  execute: async ({ id }, context) => {
    // A payment that succeeded is never tried again: its receipt is kept.
    const receipt = await context.once('payment', () => pay(id, context.idempotencyKey));
    return { refunded: id, receipt };
  },
});

/** Stands for your payment provider, which gets a key that is the same for all attempts of one call. */
async function pay(id: string, idempotencyKey: string): Promise<string> {
  return \`receipt of \${id} (\${idempotencyKey})\`;
}

${supportAgent({ tools: 'findOrder, refund', model, lastAnswer: LAST_ANSWER })}`;

const LAST_ANSWER = `\`Order \${id} is \${answer.name === 'refund' ? 'refunded' : (answer.response?.status ?? 'not known')}.\``;

const orderTest = (load: string) => `import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTestEnvironment } from 'holdfast/testing';
${load}

const env = await createTestEnvironment({ agents: [rootAgent], script: geminiScript });
after(() => env.close());

test('an order is looked up', async () => {
  const turn = await env.run('Where is A-2?');
  assert.equal(turn.status, 'completed');
  assert.equal(turn.text, 'Order A-2 is shipped.');
});

test('a refund is paid after a look at the order', async () => {
  const turn = await env.run('I want my money back for A-1');
  assert.deepEqual(
    turn.calls.map(({ tool }) => tool),
    ['find_order', 'refund'],
  );
  assert.equal(turn.text, 'Order A-1 is refunded.');
});
`;

function environment(template: Template): string {
  return `# Copy this to .env, which \`npm run dev\` and \`npm start\` read. All are optional.

# Without a key a local mock Gemini server answers, scripted by agents.ts. Keys: https://aistudio.google.com/apikey
GEMINI_API_KEY=
${template === 'openai' ? OPENAI_KEY : ''}
# A Temporal server of yours. Without one, Holdfast starts a local one.
TEMPORAL_ADDRESS=
TEMPORAL_NAMESPACE=

# A PostgreSQL database for sessions, postgres://user:password@host:5432/database. Without one they are in .holdfast.
HOLDFAST_STORE=
`;
}

const OPENAI_KEY = `
# With a key for OpenAI the agent asks GPT, else the model for Gemini.
OPENAI_API_KEY=
`;

const ABOUT = 'The agents are in `agents.ts`: ask "Where is A-2?".';

const AGENTS_OF: Readonly<Record<Template, TemplateAgent>> = {
  basic: {
    files: {
      'agents.ts': orderAgents("'gemini-2.5-flash'"),
      'agents.test.ts': orderTest("import { geminiScript, rootAgent } from './agents.ts';"),
    },
    dependencies: {},
    about: ABOUT,
  },
  mcp: mcpAgent,
  openapi: openApiAgent,
  openai: {
    files: {
      'agents.ts': orderAgents("process.env.OPENAI_API_KEY ? 'openai/gpt-5-mini' : 'gemini-2.5-flash'"),
      'agents.test.ts': orderTest(`// Tests ask no provider: the script answers.
delete process.env.OPENAI_API_KEY;
const { geminiScript, rootAgent } = await import('./agents.ts');`),
    },
    dependencies: { '@ai-sdk/openai': '^4.0.0' },
    about: `${ABOUT} With \`OPENAI_API_KEY\` in \`.env\` they ask GPT.`,
  },
};

const GITIGNORE = `node_modules/
.holdfast/
.env
`;

function readme(project: string, about: string): string {
  return `# ${project}

A durable agent on [Temporal](https://temporal.io), made with Holdfast.

\`\`\`sh
npm install
npm test
npm run dev
\`\`\`

It needs Node 22.18 or newer. \`npm run dev\` starts all that is needed, and a chat. ${about}
Without a key for Gemini (\`.env.example\`) a local mock server answers. \`npx tsc\` checks the types.
`;
}
