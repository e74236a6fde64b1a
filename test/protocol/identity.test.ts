import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  callKeyOf,
  childWorkflowIdOf,
  invocationIdOf,
  isRunKey,
  ownCallId,
  runKeyOfAgent,
  runKeyOfCall,
  sandboxDigest,
  sessionOfInvocation,
  sha256Digest,
  shortDigest,
  stepKeyOf,
  workflowIdOf,
} from '../../src/protocol/identity.ts';
import { inTier } from '../setup/tier.ts';

const LONGEST_WORKFLOW_ID = 255;

const long = 10_240;
const AWKWARD = [
  '',
  ' ',
  '/',
  '//',
  '~',
  '%7E',
  '%2F',
  'a/b',
  'a~b',
  '.',
  '..',
  'ada',
  'Ada',
  'é',
  'e\u0301',
  '😀',
  '😀/😀',
  "' OR 1=1 --",
  'a'.repeat(63),
  'a'.repeat(64),
  'a'.repeat(65),
  'a'.repeat(66),
  `${'a'.repeat(65)}b`,
  '/'.repeat(21),
  '/'.repeat(22),
  '😀'.repeat(5),
  '😀'.repeat(6),
  'n'.repeat(long),
  `${'n'.repeat(long - 1)}m`,
  // What another's short form looks like.
  `${'a'.repeat(40)}~${shortDigest('a'.repeat(65))}`,
  `${'a'.repeat(40)}%7E${shortDigest('a'.repeat(65))}`,
];

describe('workflow ids', () => {
  test('are readable: the parts, URI-encoded [turn.identity]', () => {
    expect(workflowIdOf('shop', 'ada', 's1')).toBe('shop/ada/s1');
    expect(workflowIdOf('my shop', 'ada@example.com', 'a/b~c')).toBe('my%20shop/ada%40example.com/a%2Fb%7Ec');
    expect(workflowIdOf('shop', 'ada', 'x'.repeat(100))).toBe(
      `shop/ada/${'x'.repeat(40)}~${createHash('sha256').update('x'.repeat(100)).digest('base64url').slice(0, 22)}`,
    );
  });

  test('of awkward names are all different [turn.identity]', () => {
    const ids = new Set<string>();
    for (const app of AWKWARD)
      for (const user of AWKWARD) for (const session of AWKWARD) ids.add(workflowIdOf(app, user, session));
    expect(ids.size).toBe(AWKWARD.length ** 3);
  });

  test('of any two names differ where a part differs, and have three parts [turn.identity]', () => {
    const part = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.string({ maxLength: 80 }),
      fc.constantFrom(...AWKWARD),
    );
    const names = fc.tuple(part, part, part);
    fc.assert(
      fc.property(names, names, (one, other) => {
        expect(workflowIdOf(...one) === workflowIdOf(...other)).toBe(
          JSON.stringify(one) === JSON.stringify(other),
        );
        expect(workflowIdOf(...one).split('/')).toHaveLength(3);
      }),
      { numRuns: inTier(200, 2_000) },
    );
  });

  test('stay under 255 characters, for three long parts too [turn.identity]', () => {
    for (const part of AWKWARD) {
      expect(workflowIdOf(part, part, part).length).toBeLessThanOrEqual(LONGEST_WORKFLOW_ID);
    }
    expect(workflowIdOf('n'.repeat(long), '😀'.repeat(long), '/'.repeat(long)).length).toBe(3 * 63 + 2);
  });

  test('a name that is no well-formed Unicode is refused [turn.identity]', () => {
    expect(() => workflowIdOf('shop', '\ud800', 's')).toThrow(URIError);
  });
});

describe('invocation ids', () => {
  test('are the same for ever: fixed vectors [turn.messageId]', () => {
    expect(invocationIdOf('shop', 'ada', 's1', 'm1')).toBe('e-DC-PwqfJRP1MNeHMhmWjrE');
    expect(invocationIdOf('', '😀', 'a/b', '')).toBe('e-N_4HNsbc2Ipo92XpaD1szd');
  });

  test('are 132 bits of the SHA-256 of app, user, session and message id [turn.messageId]', () => {
    const name = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(fc.tuple(name, name, name, name), (names) => {
        const digest = createHash('sha256').update(JSON.stringify(names)).digest('base64url');
        expect(invocationIdOf(...names)).toBe(`e-${digest.slice(0, 22)}`);
      }),
    );
  });

  test('names that read alike side by side are not the same [turn.messageId]', () => {
    expect(invocationIdOf('a', 'b', 'c', 'd')).not.toBe(invocationIdOf('a', 'b', 'cd', ''));
    expect(invocationIdOf('a","b', 'c', 'd', 'e')).not.toBe(invocationIdOf('a', 'b","c', 'd', 'e'));
    expect(invocationIdOf('a', 'b', 'c', '\ud800')).not.toBe(invocationIdOf('a', 'b', 'c', '\ud801'));
  });
});

describe('run keys of agents below a root', () => {
  const place = { step: 1, index: 0 };

  test('tell which agent runs, and differ by place, round and attempt [tree.requests]', () => {
    const keys = [
      runKeyOfAgent('e-1', { agent: 'critic', ...place }),
      runKeyOfAgent('e-1', { agent: 'critic', ...place, iteration: 2 }),
      runKeyOfAgent('e-1', { agent: 'critic', ...place, index: 1 }),
      runKeyOfAgent('e-2', { agent: 'critic', ...place }),
      runKeyOfCall('e-1', 'e-1.1.0', { agent: 'critic' }),
      runKeyOfCall('e-1', 'e-1.1.0', { agent: 'critic', attempt: 2 }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) expect(key).toMatch(/^critic-[\w-]{22}$/);
  });

  test('are parts of workflow ids, whatever the agent is called [tree.requests]', () => {
    for (const agent of ['e', 'é.ü/ß', 'a'.repeat(128), 'with-hyphen', '$']) {
      const key = runKeyOfAgent('e-1', { agent, ...place });
      expect(isRunKey(key)).toBe(true);
      const root = workflowIdOf('a'.repeat(long), 'b'.repeat(long), 'c'.repeat(long));
      expect(childWorkflowIdOf(root, key).length).toBeLessThanOrEqual(LONGEST_WORKFLOW_ID);
    }
    for (const other of ['', 'e', 'e-1', 'job', 'a/b-1234567890123456789012'])
      expect(isRunKey(other)).toBe(false);
  });

  test('are sessions where a call runs the agent, and turns of the root’s where none does [tree.requests]', () => {
    const tree = { app: 'shop', userId: 'ada', rootWorkflowId: 'shop/ada/s1' };
    expect(sessionOfInvocation(tree, invocationIdOf('shop', 'ada', 's1', 'm1'))).toBe('shop/ada/s1');
    for (const agent of ['helper', 'e']) {
      const key = runKeyOfCall('e-1', 'e-1.1.0', { agent });
      expect(sessionOfInvocation(tree, key)).toBe(`shop/ada/${key}`);
    }
  });
});

test('the digest of the workflow sandbox is that of Node: any text, lone surrogates too [turn.identity]', () => {
  const units = fc.oneof(fc.integer({ max: 0xffff, min: 0 }), fc.integer({ min: 0xd800, max: 0xdfff }));
  fc.assert(
    fc.property(fc.array(units, { maxLength: 300 }), (text) => {
      const given = String.fromCharCode(...text);
      expect(sandboxDigest(given)).toBe(sha256Digest(given));
    }),
  );
  expect(sha256Digest('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0');
});

test('keys of steps and calls name run, step and position [call.keys]', () => {
  expect(stepKeyOf('e-1', 3)).toBe('e-1.3');
  expect(callKeyOf('e-1', 3, 0)).toBe('e-1.3.0');
  expect(ownCallId('e-1.3.0')).toBe('adk-e-1.3.0');
});
