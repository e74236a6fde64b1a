const SETS_FLAGS = /^TEMPORAL_/i;
const SECRET = /(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/i;

/**
 * The environment of the embedded server: it outlives us and needs none of our secrets, and the CLI would take
 * its flags from variables that are meant for clients.
 */
export function serverEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !SETS_FLAGS.test(name) && !SECRET.test(name)),
  );
}
