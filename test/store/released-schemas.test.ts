import { expect, test } from 'vitest';
import { STORE_SCHEMA, type StoreSchema } from '../../src/store/schema/store-schema.ts';
import { NEXT_FUNCTIONS, NEXT_RELEASE } from './next-release.ts';
import { asReleased, breachesOf, releasedSchemas } from './released-schemas.ts';

test('this release keeps what the releases before it have [store.upgrade]', () => {
  expect(releasedSchemas().flatMap((released) => breachesOf(released, STORE_SCHEMA))).toEqual([]);
});

const released = asReleased('0.1', STORE_SCHEMA);

test.each([
  ['that changes inner functions', NEXT_FUNCTIONS],
  ['that adds tables, columns and functions', NEXT_RELEASE],
])('a next release %s keeps it [store.upgrade]', (_what, next) => {
  expect(breachesOf(released, next)).toEqual([]);
});

const [[first, sql] = ['', '']] = STORE_SCHEMA.functions;
const [tables] = STORE_SCHEMA.changes;
const NEXT = { version: 2, name: 'next', sql: '' };

const BREACHES: [string, StoreSchema, string][] = [
  [
    'edits released tables',
    { ...STORE_SCHEMA, changes: STORE_SCHEMA.changes.map((each) => ({ ...each, sql: `${each.sql}\n` })) },
    'change 1 is not as 0.1 has it',
  ],
  [
    'drops a released change',
    { ...STORE_SCHEMA, changes: [{ ...NEXT, version: 3 }] },
    'change 1 is not as 0.1 has it',
  ],
  [
    'changes a function under the same version',
    { ...STORE_SCHEMA, functions: new Map([...STORE_SCHEMA.functions, [first, `${sql}-- changed\n`]]) },
    `${first} differs from 0.1, and the version does not`,
  ],
  [
    'drops a function that the release before calls',
    {
      changes: [...(tables ? [tables] : []), NEXT],
      functions: new Map([...STORE_SCHEMA.functions].filter(([name]) => name !== 'park_job')),
    },
    'park_job is called by 0.1 with other parameters, or for another result',
  ],
];

test.each(BREACHES)('a next release that %s is found out [store.upgrade]', (_what, next, breach) => {
  expect(breachesOf(released, next)).toEqual([breach]);
});
