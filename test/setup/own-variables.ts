import { afterAll } from 'vitest';

/** Files of one process leave each other's variables as they were. */
const before = { ...process.env };

afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
