export { createTestEnvironment } from './create-test-environment.ts';
export { MockGeminiError, type MockGeminiErrorCode } from './gemini-error.ts';
export type { RecordedRequest, Refusal } from './gemini-record.ts';
export {
  blocked,
  type CallOptions,
  call,
  calls,
  disconnect,
  type ErrorReplyOptions,
  error,
  type GeminiPace,
  type GeminiReply,
  type GeminiReplyLike,
  hang,
  type ReplyOptions,
  raw,
  reply,
  stopped,
  text,
  thought,
} from './gemini-reply.ts';
export type { GeminiRequest } from './gemini-request.ts';
export type { GeminiScript, GeminiScriptInfo } from './gemini-script.ts';
export { type HoldfastMatchers, holdfastMatchers } from './matchers.ts';
export { type MockGemini, type MockGeminiOptions, startMockGemini } from './mock-gemini.ts';
export { startMockSlack } from './mock-slack.ts';
export type { SlackForgery } from './slack-sign.ts';
export type { SlackMessage, SlackView, SlackWhisper } from './slack-state.ts';
export type { MockSlack, MockSlackOptions, SlackMood } from './slack-workspace.ts';
export type { TestEnvironment, TestEnvironmentOptions, TestMessage } from './test-environment.ts';
export type { TestJob, TestJobs } from './test-jobs.ts';
export type { TestRequest, TestRequests } from './test-requests.ts';
export type { TestCall, TestTurn } from './test-turn.ts';
