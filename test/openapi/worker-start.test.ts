import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { checkAgents } from '../../src/cli/doctor/check-agents.ts';
import { findTool, resolveTools } from '../../src/flows/resolve-tools.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { StdioServerParameters } from '../../src/tools/mcp/connection-params.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import { OpenAPIToolset } from '../../src/tools/openapi/openapi-toolset.ts';
import type { OpenAPIToolsetOptions } from '../../src/tools/openapi/toolset-options.ts';
import { filterToolset, StaticToolset } from '../../src/tools/toolsets.ts';
import { withConfirmation } from '../../src/tools/with-confirmation.ts';
import { checkToolsets, deploy } from '../../worker/deploy.ts';
import { surroundings } from '../cli/doctor-surroundings.ts';
import { contextWith } from '../definitions/tool-context.ts';
import { startRawServer } from '../mcp/raw-server.ts';
import { serveApi } from './api-server.ts';

const api = await serveApi();
const documentOf = (schema: object) => ({
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: api.origin }],
  paths: {
    '/pets': {
      post: {
        operationId: 'addPet',
        requestBody: { content: { 'application/json': { schema: { properties: { pet: schema } } } } },
      },
    },
  },
});
const right = documentOf({ type: 'string' });
const wrong = documentOf({ $ref: '#/components/schemas/Pet' });
const refused = documentOf({ type: 'object', properties: { 'a b': { type: 'string' } } });

/** Warnings of a worker that starts with a toolset. */
async function warnings(toolset: BaseToolset, model = 'gemini-2.5-flash'): Promise<string[]> {
  const told: string[] = [];
  const agent = new LlmAgent({ name: 'keeper', model, tools: [toolset] });
  await checkToolsets(deploy({ agents: [agent] }), {
    warn: (message, attributes) => void told.push(`${message}: ${attributes?.reason}`),
  });
  return told;
}
const of = (options: OpenAPIToolsetOptions) => new OpenAPIToolset({ allow: [api.host], ...options });

test('a worker is told of documents before its first turn [openapi.start]', async () => {
  const place = 'operation "addPet": $ref "#/components/schemas/Pet" leads to nothing';
  const name = 'agent "keeper", tool "add_pet": the schema';
  expect(await warnings(of({ specDict: right }))).toEqual([]);
  for (const source of [{ specDict: wrong }, { specStr: JSON.stringify(wrong) }]) {
    await expect(warnings(of(source))).rejects.toMatchObject({
      code: 'HOLDFAST_DEFINITION',
      message: expect.stringContaining(place),
    });
  }
  await expect(warnings(withConfirmation(of({ specDict: wrong }), true))).rejects.toThrow(place);
  expect(await warnings(of({ specDict: wrong, optional: true }))).toEqual([
    expect.stringContaining(`a toolset has no tools yet: OpenAPIToolset: ${place}`),
  ]);
  const claude = 'anthropic/claude-sonnet-4-5';
  expect(await warnings(of({ specDict: right }), claude)).toEqual([]);
  await expect(warnings(of({ specDict: refused }), claude)).rejects.toThrow(name);
  await expect(warnings(of({ specDict: refused }), claude)).rejects.toThrow(
    'properties.pet.properties["a b"]',
  );
  const optional = new LlmAgent({
    ...{ name: 'keeper', model: claude },
    tools: [of({ specDict: refused, optional: true, name: 'Odd' }), of({ specDict: right, prefix: 'my' })],
  });
  const told: string[] = [];
  const groups = await resolveTools(optional, contextWith, (line) => told.push(line));
  expect(groups.flatMap(({ tools }) => tools.map((each) => each.name))).toEqual(['my_add_pet']);
  expect(told).toEqual([
    expect.stringMatching(/^the tool "add_pet" of tools\[0\] \(toolset Odd\) is left out/),
  ]);
  await expect(warnings(of({ specUrl: '/nowhere/pets.yaml' }))).rejects.toThrow("the file can't be read");
});

test('a document whose server is away is a warning, and so is a toolset that throws [openapi.start]', async () => {
  api.answer = (_, response) => void response.writeHead(503).end();
  const specUrl = `${api.origin}/openapi.json`;
  for (const optional of [false, true]) {
    expect(await warnings(of({ specUrl, optional }))).toEqual([
      'a toolset has no tools yet: OpenAPIToolset: specUrl: the server answered 503',
    ]);
  }
  const away = { ...right, paths: { '/pets': { $ref: `${specUrl}#/pets` } } };
  expect(await warnings(of({ specDict: away, externalRefs: { allow: [api.origin] } }))).toEqual([
    expect.stringContaining('/openapi.json#/pets": the server answered 503'),
  ]);
  api.answer = (_, response) => void response.end(JSON.stringify(wrong));
  await expect(warnings(of({ specUrl }))).rejects.toThrow('leads to nothing');
  class Thrown extends BaseToolset {
    override async knownTools(): Promise<never> {
      throw new TypeError('oops');
    }
    override async getTools() {
      return [];
    }
    override async close() {}
  }
  expect(await warnings(new Thrown())).toEqual(['a toolset has no tools yet: oops']);
});

test('a program of an MCP server that can not be started is told as well [mcp.input]', async () => {
  const start = (serverParams: StdioServerParameters, optional = false) =>
    warnings(new MCPToolset({ type: 'StdioConnectionParams', serverParams }, [], undefined, { optional }));
  const folder = dirname(process.execPath);
  const env = { PATH: folder };
  for (const there of [
    { command: 'node', env },
    { command: './node', cwd: folder },
  ])
    expect(await start(there)).toEqual([]);
  const missing = 'MCPToolset: connectionParams.serverParams.command: there is no program';
  for (const command of ['no-such-server', '/nowhere/mcp-server', './node', 'node server.js'])
    await expect(start({ command, env })).rejects.toMatchObject({
      code: 'HOLDFAST_DEFINITION',
      message: expect.stringContaining(`${missing} ${JSON.stringify(command)}`),
    });
  await expect(start({ command: 'node', env: { PATH: '/nowhere' } })).rejects.toThrow('install it');
  await expect(start({ command: './node', cwd: '/nowhere' })).rejects.toThrow(
    'serverParams.cwd: there is no',
  );
  expect(await start({ command: 'no-such-server' }, true)).toEqual([expect.stringContaining(missing)]);
});

const own = tool({ name: 'add_pet', description: 'Adds a pet.', execute: () => 'own' });

test('a name that another tool has is told before the first turn, with both owners [openapi.clash]', async () => {
  const start = (...tools: LlmAgent['tools']) =>
    checkToolsets(deploy({ agents: [new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools })] }), {
      warn: (message) => expect.fail(message),
    });
  const pets = of({ specDict: right });
  await expect(start(own, pets)).rejects.toThrow(
    'duplicate tool: "add_pet" is in tools[0] and in tools[1] (toolset OpenAPIToolset)',
  );
  const others = [of({ specDict: right, name: 'Others' }), new StaticToolset([own], { name: 'Others' })];
  for (const other of others)
    await expect(start(pets, other)).rejects.toThrow(
      '"add_pet" is in tools[0] (toolset OpenAPIToolset) and in tools[1] (toolset Others)',
    );
  await start(own, of({ specDict: right, prefix: 'my' }));
  await start(own, of({ specDict: right, optional: true }), of({ specDict: right, optional: true }));
  // Predicates may choose one of the two at each request.
  await start(
    own,
    withConfirmation(
      filterToolset(pets, () => false),
      true,
    ),
  );
  await start(own, new StaticToolset([own], { toolFilter: ['others'] }));
});

test('an optional toolset loses a tool whose name is taken, and the agent goes on [openapi.optional]', async () => {
  const optional = (name: string) => of({ specDict: right, optional: true, name });
  const resolve = async (...tools: LlmAgent['tools']) => {
    const told: string[] = [];
    const agent = new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools });
    const names: string[][] = [];
    for (let request = 0; request < 2; request += 1) {
      const groups = await resolveTools(agent, contextWith, (line) => told.push(line));
      names.push(groups.flatMap((group) => group.tools.map(({ name }) => name)));
    }
    const site = { agent, context: contextWith(), toolFactories: new Map(), toolEdits: [] };
    return { told, names, found: await findTool(site, 'add_pet') };
  };
  const beside = await resolve(optional('Api'), own);
  expect(beside.told).toEqual([
    'the tool "add_pet" of tools[0] (toolset Api) is left out: the name is in tools[1]',
  ]);
  expect(beside.names).toEqual([['add_pet'], ['add_pet']]);
  expect(beside.found).toBe(own);
  const known = new StaticToolset([own]);
  const afterwards = await resolve(optional('Api'), known);
  expect(afterwards.told).toEqual([expect.stringContaining('is in tools[1] (toolset StaticToolset)')]);
  expect(afterwards.found).toBe(own);
  const [first, second] = [optional('First'), optional('Second')];
  const two = await resolve(first, second);
  expect(two.told).toEqual([
    'the tool "add_pet" of tools[1] (toolset Second) is left out: the name is in tools[0] (toolset First)',
  ]);
  expect(two.found).toBe((await first.getTools())[0]);
  // An MCP server's names may be chosen to take those of the app.
  await using server = await startRawServer({
    'tools/list': { tools: [{ name: 'add_pet', inputSchema: { type: 'object' } }] },
  });
  const foreign = new MCPToolset({ type: 'StreamableHTTPConnectionParams', url: server.url });
  const behind = await resolve(foreign, first);
  expect(behind.told).toEqual([expect.stringContaining('of tools[0] (toolset MCPToolset) is left out')]);
  expect(behind.found).toBe((await first.getTools())[0]);
  await foreign.close();
});

test('doctor tells the same of a file of agents [openapi.start] [cli.doctor]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  const agentsOf = (name: string, specDict: object, optional: boolean) => {
    const file = join(folder, name);
    const from = (path: string) => JSON.stringify(resolve('src', path));
    writeFileSync(
      file,
      `import { LlmAgent } from ${from('agents/llm-agent.ts')};
import { OpenAPIToolset } from ${from('tools/openapi/openapi-toolset.ts')};
const api = new OpenAPIToolset(${JSON.stringify({ specDict, optional, allow: [api.host] })});
export const keeper = new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools: [api] });
`,
    );
    return checkAgents(surroundings({ agents: file }));
  };
  expect(await checkAgents(surroundings())).toEqual([]);
  expect(await agentsOf('right.ts', right, false)).toMatchObject([{ status: 'ok' }]);
  expect(await agentsOf('wrong.ts', wrong, false)).toMatchObject([
    { status: 'fail', message: expect.stringContaining('operation "addPet"') },
  ]);
  expect(await agentsOf('optional.ts', wrong, true)).toMatchObject([{ status: 'warn' }, { status: 'ok' }]);
});
