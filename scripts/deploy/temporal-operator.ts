import { parseArgs } from 'node:util';
import { Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { readDuration } from '../../src/schema/duration.ts';

/**
 * Those commands of the Temporal CLI that the Compose file's scripts use, for machines that can't have the CLI. Its image has the
 * real one.
 */

const { IndexedValueType } = proto.temporal.api.enums.v1;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    namespace: { type: 'string', default: 'default' },
    retention: { type: 'string', default: '3d' },
    name: { type: 'string', multiple: true, default: [] },
    type: { type: 'string', multiple: true, default: [] },
    query: { type: 'string', default: '' },
  },
});
const { namespace, query } = values;
const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS ?? 'localhost:7233' });

const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = {
  'operator cluster health': () => connection.workflowService.getSystemInfo({}),
  'operator namespace describe': () => connection.workflowService.describeNamespace({ namespace }),
  'operator namespace create': () =>
    connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: secondsOf(values.retention) },
    }),
  'operator search-attribute create': () =>
    connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(
        values.name.map((name, index) => [name, typeOf(values.type[index])]),
      ),
    }),
  'workflow count': () => connection.workflowService.countWorkflowExecutions({ namespace, query }),
};

function secondsOf(text: string): Long {
  const read = readDuration(text);
  if ('problem' in read) throw new Error(`--retention: ${read.problem}`);
  return proto.google.protobuf.Duration.fromObject({ seconds: Math.round(read.ms / 1000) }).seconds as Long;
}

type Long = NonNullable<proto.google.protobuf.IDuration['seconds']>;

function typeOf(name: string | undefined): number {
  if (name === 'Keyword') return IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
  throw new Error(`--type: expected Keyword, got ${name}`);
}

try {
  const command = COMMANDS[positionals.join(' ')];
  if (command === undefined) throw new Error(`there is no command ${positionals.join(' ')}`);
  await command();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  await connection.close();
}
