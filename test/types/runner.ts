/** Runner and its services against those of `@google/adk`. Compiled, never run. */
import type * as adk from '@google/adk';
import { expectTypeOf } from 'vitest';
import type * as ours from '../../src/index.ts';

// Sessions. Events of ours have no brand, and an older @google/genai is behind ADK's contents: compared without them.
type Plain = Exclude<keyof adk.Session, 'events'>;
expectTypeOf<keyof ours.Session>().toEqualTypeOf<keyof adk.Session>();
expectTypeOf<Pick<ours.Session, Plain>>().toEqualTypeOf<Pick<adk.Session, Plain>>();
expectTypeOf<ours.CompositeSessionKey>().toEqualTypeOf<adk.CompositeSessionKey>();
expectTypeOf<ours.CreateSessionRequest>().toEqualTypeOf<adk.CreateSessionRequest>();
expectTypeOf<ours.GetSessionRequest>().toEqualTypeOf<adk.GetSessionRequest>();
expectTypeOf<ours.ListSessionsRequest>().toEqualTypeOf<adk.ListSessionsRequest>();
expectTypeOf<ours.DeleteSessionRequest>().toEqualTypeOf<adk.DeleteSessionRequest>();
expectTypeOf<keyof ours.ListSessionsResponse>().toEqualTypeOf<keyof adk.ListSessionsResponse>();
type Method = 'createSession' | 'getSession' | 'getOrCreateSession' | 'listSessions' | 'deleteSession';
expectTypeOf<Method | 'appendEvent'>().toEqualTypeOf<
  keyof adk.BaseSessionService & keyof ours.BaseSessionService
>();
expectTypeOf<Parameters<ours.BaseSessionService['createSession']>>().toEqualTypeOf<
  Parameters<adk.BaseSessionService['createSession']>
>();

// Runs: what ADK's take, ours take.
type Given<Run extends (params: never) => unknown> = Omit<Parameters<Run>[0], 'runConfig' | 'newMessage'>;
expectTypeOf<Given<ours.Runner['runAsync']>>().toEqualTypeOf<Given<adk.Runner['runAsync']>>();
expectTypeOf<Given<ours.Runner['runEphemeral']>>().toEqualTypeOf<Given<adk.Runner['runEphemeral']>>();
expectTypeOf<keyof Parameters<ours.Runner['runAsync']>[0]>().toEqualTypeOf<
  keyof Parameters<adk.Runner['runAsync']>[0]
>();
expectTypeOf<keyof ours.RunConfig>().toEqualTypeOf<keyof adk.RunConfig>();
type Own = 'maxLlmCalls' | 'pauseOnToolCalls' | 'saveInputBlobsAsArtifacts';
expectTypeOf<Pick<ours.RunConfig, Own>>().toEqualTypeOf<Pick<adk.RunConfig, Own>>();
expectTypeOf<`${adk.StreamingMode}`>().toEqualTypeOf<ours.StreamingMode>();
expectTypeOf<Exclude<keyof adk.RunnerConfig, keyof ours.RunnerConfig>>().toBeNever();
expectTypeOf<keyof ConstructorParameters<typeof ours.InMemoryRunner>[0]>().toEqualTypeOf<
  keyof ConstructorParameters<typeof adk.InMemoryRunner>[0]
>();

// Functions on events.
expectTypeOf<
  ReturnType<typeof ours.toStructuredEvents>[number]['type']
>().toEqualTypeOf<`${adk.EventType}`>();
expectTypeOf<ReturnType<typeof ours.hasThoughts>>().toEqualTypeOf<ReturnType<typeof adk.hasThoughts>>();
expectTypeOf<Parameters<typeof ours.setLogger>[0]>().toExtend<ours.Logger | null>();
expectTypeOf<keyof ours.Logger>().toEqualTypeOf<keyof adk.Logger>();
