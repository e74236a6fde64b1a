import { type AppSettings, runConfigOf } from '../src/agents/app-settings.ts';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { timeLeft } from '../src/flows/budgets.ts';
import { takeOwnState } from '../src/flows/own-state.ts';
import { StepContext, type StepScene } from '../src/flows/step-context.ts';
import type { AskedStep } from '../src/flows/step-draft.ts';
import { type Transcript, transcriptView } from '../src/flows/transcript.ts';
import type { PluginManager } from '../src/plugins/plugin-manager.ts';
import type { CallModelInput } from '../src/protocol/step.ts';
import type { TurnRunConfig } from '../src/protocol/turn.ts';
import type { OpenedStep } from '../src/store/store.ts';
import type { ToolEdit } from '../src/tools/turn-tools.ts';
import type { Attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { pluginsOf } from './deployment.ts';
import type { LiveText } from './live-text.ts';
import type { CallPlace } from './logging.ts';
import type { RestingModels } from './resting-models.ts';
import { StepTime } from './step-time.ts';
import type { StepReport } from './telemetry/step-report.ts';
import { UserCode } from './user-code.ts';

export type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

/** An opened model step whose agent and transcript are there. */
export interface GivenStep {
  dependencies: ActivityDependencies;
  input: CallModelInput;
  current: Attempt;
  /** Where log lines say that they come from. */
  place: CallPlace;
  report: StepReport;
  opened: OpenStep;
  agent: LlmAgent;
  settings: AppSettings;
  asked: AskedStep;
  transcript: Transcript;
  live: LiveText;
  resting: RestingModels;
}

/** What the parts of a step work with. */
export interface StepParts extends GivenStep {
  plugins: PluginManager;
  runConfig: TurnRunConfig;
  scene: StepScene;
  context: StepContext;
  /** Those of earlier steps. */
  toolEdits: readonly ToolEdit[];
  /** An earlier step has ended the invocation. */
  hasEnded: boolean;
  time: StepTime;
  code: UserCode;
}

export function stepParts(given: GivenStep): StepParts {
  const { dependencies, input, current, opened, agent, settings, transcript } = given;
  const { age, names, sessionUsage } = opened;
  const { invocationId } = input;
  const { edits, ends, state } = takeOwnState(opened.state);
  const plugins = pluginsOf(dependencies.deployment, names.app);
  const runConfig = runConfigOf(settings, input.runConfig ?? opened.asked.runConfig);
  const scene: StepScene = {
    names,
    agent,
    state,
    invocationId,
    userContent: transcript.message,
    runConfig,
    abortSignal: current.signal,
    transcript: transcriptView(transcript, invocationId),
  };
  const time = new StepTime(current, agent, timeLeft(settings, { age, sessionTime: sessionUsage.time }));
  return {
    ...given,
    plugins,
    runConfig,
    scene,
    context: new StepContext(scene),
    toolEdits: edits,
    hasEnded: ends,
    time,
    code: new UserCode(agent, plugins, time),
  };
}
