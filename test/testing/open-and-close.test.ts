import { expect, test } from 'vitest';
import { holdVariables, RestartedWorker } from '../../src/testing/open-test-environment.ts';
import { Closing } from '../../worker/closing.ts';

test('variables are the newest holder’s, and at the end the process’s own, whatever the order [testing.environment]', () => {
  const name = 'HOLDFAST_TEST_HELD';
  process.env[name] = 'own';
  const endOne = holdVariables({ [name]: 'one' });
  const endOther = holdVariables({ [name]: 'other' });
  expect(process.env[name]).toBe('other');
  endOne();
  expect(process.env[name]).toBe('other');
  endOther();
  expect(process.env[name]).toBe('own');
  endOne();
  expect(process.env[name]).toBe('own');
  delete process.env[name];
  holdVariables({ [name]: 'one' })();
  expect(Object.hasOwn(process.env, name)).toBe(false);
});

test('what can’t be closed leaves nothing else open [testing.environment]', async () => {
  const closed: string[] = [];
  const closing = new Closing();
  closing.add(
    () => void closed.push('first'),
    () => Promise.reject(new Error('stuck')),
    () => void closed.push('last'),
  );
  const opened = closing.of(Promise.resolve('server'), (server) => void closed.push(server));
  await opened;
  await expect(closing.close()).rejects.toThrow('stuck');
  expect(closed).toEqual(['server', 'last', 'first']);
  expect(() => closing.assertOpen()).toThrow('closed: open another one');
});

test('restarts that come at once are one after another, and none comes after the end [testing.environment]', async () => {
  let running = 0;
  let most = 0;
  const worker = new RestartedWorker(async () => {
    most = Math.max(most, ++running);
    return {
      close: async () => {
        await Promise.resolve();
        running--;
      },
    };
  });
  await Promise.all([worker.restart(), worker.restart(), worker.stop(), worker.restart()]);
  expect(running).toBe(1);
  await worker.close();
  expect({ running, most }).toEqual({ running: 0, most: 1 });
  await expect(worker.restart()).rejects.toThrow('closed');
});
