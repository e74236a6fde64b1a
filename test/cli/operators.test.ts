import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context, propagation, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { Client, Connection } from '@temporalio/client';
import { afterAll, expect, test, vi } from 'vitest';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import { findLocalGateway } from '../../worker/local-gateway.ts';
import { stubGateway, stubTurn } from '../gateway/gateway-stub.ts';
import { freePort } from '../setup/free-port.ts';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';
import { UserProject } from './user-project.ts';

const AGENTS = `
import { LlmAgent } from 'holdfast';
import { text } from 'holdfast/testing';
export const rootAgent = new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash' });
export const geminiScript = () => text('done');
`;

/** Turns bytes around. */
const CODEC = `
const bytes = (text) => new TextEncoder().encode(text);
const isTurned = ({ metadata }) => new TextDecoder().decode(metadata?.encoding) === 'binary/turned';
export const dataConverter = {
  payloadCodecs: [{
    encode: async (payloads) => payloads.map(({ metadata, data }) => ({
      metadata: { ...metadata, was: metadata.encoding, encoding: bytes('binary/turned') }, data: data?.toReversed(),
    })),
    decode: async (payloads) => payloads.map((payload) => isTurned(payload)
      ? { metadata: { ...payload.metadata, encoding: payload.metadata.was }, data: Uint8Array.from(payload.data).reverse() }
      : payload),
  }],
};
`;

const project = new UserProject();
const started: HoldfastProcess[] = [];
const received: { path: string; key: unknown; body: string }[] = [];
const collector = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString('latin1');
  received.push({ path: request.url ?? '', key: request.headers['x-key'], body });
  response.end();
});

function start(args: readonly string[], env: Record<string, string>): HoldfastProcess {
  const child = new HoldfastProcess(args, { cwd: project.path, env });
  started.push(child);
  return child;
}

afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  collector.closeAllConnections();
  collector.close();
  await project.remove();
});

test('worker and commands encode payloads by a module, the UI reads them by holdfast codec, and a collector gets metrics and spans [ops.codec] [ops.otlp]', async () => {
  const agents = project.write('agents.ts', AGENTS);
  const env = { HOLDFAST_DATA_CONVERTER: project.write('codec.ts', CODEC), TEMPORAL_UI_URL: '' };
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const worker = start(['worker', agents, '--mock-model'], {
    ...env,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: '',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_SERVICE_NAME: 'birds',
  });
  await worker.prints(/"message":"worker polls"/);
  const place = await vi.waitUntil(() => findLocalGateway(project.folder), { timeout: 120_000 });
  const turn = await new GatewayClient(place).sendMessage({
    ...{ app: 'agents', userId: 'ada', sessionId: 's1', message: 'a secret word' },
  });
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
  const address = /"address":"([^"]+)"/.exec(worker.stderr)?.[1];
  const connection = await Connection.connect({ ...(address === undefined ? {} : { address }) });
  const { events = [] } = await new Client({ connection }).workflow.getHandle(turn.workflowId).fetchHistory();
  await connection.close();
  const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const asText = (bytes: unknown) => Buffer.from(bytes as Uint8Array);
  expect(asText(input[0]?.data).toString()).not.toContain('a secret word');

  const port = await freePort();
  const codec = start(['codec', '--port', String(port), '--token', 'known-here'], env);
  await codec.prints(/codec endpoint .*known-here/);
  const origin = /Temporal UI (\S+):/.exec(codec.stdout)?.[1] ?? '';
  const decode = async (token: string) =>
    await fetch(`http://127.0.0.1:${port}/${token}/decode`, {
      method: 'POST',
      headers: { origin },
      body: JSON.stringify({
        payloads: input.map(({ metadata, data }) => ({
          metadata: Object.fromEntries(
            Object.entries(metadata ?? {}).map(([name, value]) => [name, asText(value).toString('base64')]),
          ),
          data: asText(data).toString('base64'),
        })),
      }),
    });
  const answer = await decode('known-here');
  expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
  const { payloads } = (await answer.json()) as { payloads: { data: string }[] };
  expect(Buffer.from(payloads[0]?.data ?? '', 'base64').toString()).toContain('a secret word');
  expect((await decode('guessed')).status).toBe(404);

  const sent = (path: string, text: RegExp) =>
    received.some((each) => each.path === path && each.key === 'a b' && text.test(each.body));
  await vi.waitUntil(() => sent('/v1/metrics', /holdfast_turns/), { timeout: 120_000 });
  await vi.waitUntil(() => sent('/v1/traces', /birds.*invoke_agent clerk/), { timeout: 120_000 });
});

test('a command without the module, or with a wrong one, says which variable to mend [ops.codec]', async () => {
  const none = project.write('none.ts', 'export const dataConverter = { payloadCodecs: [null] };');
  const ran = (env: Record<string, string>) => holdfast(['codec'], { cwd: project.path, env });
  const [unset, missing, wrong] = await Promise.all([
    ran({}),
    ran({ HOLDFAST_DATA_CONVERTER: 'nowhere.ts' }),
    ran({ HOLDFAST_DATA_CONVERTER: none }),
  ]);
  expect(unset).toMatchObject({ code: 2, stderr: expect.stringMatching(/set HOLDFAST_DATA_CONVERTER/) });
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/nowhere\.ts: no such file/) });
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/export const dataConverter =/) });
});

test('a request’s span is below its caller’s, and a turn that it starts below the request’s [ops.otlp]', async () => {
  const exported = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exported)] });
  provider.register();
  try {
    let active = trace.getSpanContext(context.active());
    const { send } = stubGateway({
      sendMessage: async () => {
        active = trace.getSpanContext(context.active());
        return stubTurn({ messageId: 'm1' });
      },
    });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await send('/v1/apps/shop/users/ada-lovelace/sessions/s1/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json', traceparent },
      body: '{"message":"hi"}',
    });
    const [span, ...others] = exported.getFinishedSpans();
    expect(others).toEqual([]);
    expect(span?.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    expect(span?.spanContext()).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: active?.spanId,
    });
    expect(span?.name).toMatch(/^POST \/v1\/apps\/:app/);
    expect(JSON.stringify([span?.name, span?.attributes])).not.toContain('ada-lovelace');
  } finally {
    await provider.shutdown();
    for (const one of [trace, context, propagation]) one.disable();
  }
});
