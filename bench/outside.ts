import { parseArgs } from 'node:util';
import { OpenAPIToolset } from '../src/tools/openapi/openapi-toolset.ts';
import { longestPause } from '../test/setup/longest-pause.ts';
import { benchFirstTokens } from './first-tokens.ts';
import { benchMcpCalls } from './mcp-calls.ts';
import { median, table } from './statistics.ts';

/**
 * Tools from outside: calls of an MCP server (see mcp-calls.ts), and the definition of a large OpenAPI document, from its text to the tools of one tag, the longest time for which the
 * worker stands still meanwhile, and what a later request costs; the first token of models of the AI SDK (see first-tokens.ts).
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    bytes: { type: 'string', default: '10000000' },
    quick: { type: 'boolean', default: false },
  },
});
const rounds = options.quick ? 3 : Number(options.rounds);
const text = documentOf(Number(options.bytes));

const took: number[] = [];
const stood: number[] = [];
const again: number[] = [];
let declared = 0;
let count = 0;
for (let round = 0; round < rounds; round += 1) {
  const began = performance.now();
  const toolset = new OpenAPIToolset({ specStr: text, include: { tags: ['tag-7'] } });
  stood.push(await longestPause(() => toolset.load()));
  took.push(performance.now() - began);
  const asked = performance.now();
  const tools = await toolset.getTools();
  again.push(performance.now() - asked);
  count = tools.length;
  declared = JSON.stringify(tools.map((tool) => tool._getDeclaration())).length;
}

const megabytes = (text.length / 1e6).toFixed(1);
process.stdout.write(
  table([
    [`OpenAPI document of ${megabytes} MB`, 'median', 'worst'],
    ['definition, ms', median(took).toFixed(0), Math.max(...took).toFixed(0)],
    ['longest block of the event loop, ms', median(stood).toFixed(0), Math.max(...stood).toFixed(0)],
    ['tools at a later request, ms', median(again).toFixed(3), Math.max(...again).toFixed(3)],
    [`declarations of ${count} operations in each request, bytes`, String(declared), ''],
  ]),
);

process.stdout.write(
  `\n\n${await benchMcpCalls({ rounds, calls: options.quick ? 200 : 1_000 })}\n\n${await benchFirstTokens()}\n`,
);

/** Operations whose bodies and answers refer to schemas that refer to each other, up to a size. */
function documentOf(bytes: number): string {
  const paths: Record<string, object> = {};
  const schemas: Record<string, object> = {};
  const string = { type: 'string', description: 'A field of the resource, as its owner has set it.' };
  for (let n = 0, size = 0; size < bytes; n += 1) {
    const reference = { $ref: `#/components/schemas/Resource${n}` };
    const fields = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`field_${index}`, string]));
    const schema = {
      type: 'object',
      properties: { ...fields, next: { $ref: `#/components/schemas/Resource${Math.max(n - 1, 0)}` } },
    };
    const content = { 'application/json': { schema: reference } };
    const item = {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      get: {
        operationId: `getResource${n}`,
        tags: [`tag-${n % 200}`],
        responses: { 200: { description: 'ok', content } },
      },
      post: {
        operationId: `setResource${n}`,
        tags: [`tag-${n % 200}`],
        requestBody: { content },
        responses: {},
      },
    };
    paths[`/resources-${n}/{id}`] = item;
    schemas[`Resource${n}`] = schema;
    size += JSON.stringify(item).length + JSON.stringify(schema).length;
  }
  const servers = [{ url: 'https://api.example.com' }];
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Large', version: '1' },
    servers,
    paths,
    components: { schemas },
  });
}
