import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { isLlmAgent, type LlmAgent } from '../../src/agents/llm-agent.ts';
import { type AppSettings, runConfigOf } from '../../src/app/app-settings.ts';
import type { AttemptArtifacts } from '../../src/artifacts/context-artifacts.ts';
import type { TurnUsage } from '../../src/contract/sessions.ts';
import { timeLeft } from '../../src/flows/budgets.ts';
import { StepContext, type StepContextInit } from '../../src/flows/step-context.ts';
import type { AskedStep } from '../../src/flows/step-draft.ts';
import { type Transcript, transcriptView } from '../../src/flows/transcript.ts';
import type { PluginManager } from '../../src/plugins/plugin-manager.ts';
import { stepKeyOf } from '../../src/protocol/identity.ts';
import { defined } from '../../src/protocol/json.ts';
import type { RunTerms, ToolEdit, TurnRunConfig } from '../../src/protocol/run-terms.ts';
import type { CallModelInput } from '../../src/protocol/step.ts';
import type { OpenedStep } from '../../src/store/turns/step-store.ts';
import type { OnceRecords } from '../../src/tools/invocation-context.ts';
import type { Attempt } from '../attempt.ts';
import { attemptServices } from '../context-services.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { pluginsOf } from '../deployment.ts';
import type { CallPlace } from '../logging.ts';
import type { StepReport } from '../telemetry/reports.ts';
import type { LiveText } from './live-text.ts';
import type { RateLimitedModels } from './rate-limited-models.ts';
import type { StepStart } from './step-beginning.ts';
import { StepTime, UserCode } from './user-code.ts';

export type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

/** An opened model step whose agent and transcript are there. */
export interface GivenStep<Agent extends BaseAgent = BaseAgent> {
  dependencies: ActivityDependencies;
  input: CallModelInput;
  current: Attempt;
  /** The fields of the step's log lines. */
  place: CallPlace;
  report: StepReport;
  opened: OpenStep;
  /** Usage of the runs that contain this one, in the order of `input.above`. */
  usedAbove: readonly TurnUsage[];
  agent: Agent;
  settings: AppSettings;
  /** The agents that have transferred the turn, in order. */
  transferredBy: readonly BaseAgent[];
  asked: AskedStep;
  transcript: Transcript;
  live: LiveText;
  rateLimited: RateLimitedModels;
}

/** The shared state of a step's parts. */
export interface StepParts<Agent extends BaseAgent = BaseAgent> extends GivenStep<Agent> {
  plugins: PluginManager;
  runConfig: TurnRunConfig;
  contextInit: StepContextInit;
  /** Those that its user code saves are recorded with the step. */
  artifacts: AttemptArtifacts;
  context: StepContext;
  /** Those of earlier steps. */
  toolEdits: readonly ToolEdit[];
  /** An earlier step has ended the invocation. */
  hasEnded: boolean;
  time: StepTime;
  code: UserCode<Agent>;
  begins: StepStart;
}

/** Parts of a step whose agent asks a model. */
export type ModelStepParts = StepParts<LlmAgent>;

export function isModelStep(step: StepParts): step is ModelStepParts {
  return isLlmAgent(step.agent);
}

/** Milliseconds that the run of a called agent has left; undefined where nothing limits it. */
export function timeLeftOfRun({ budget }: RunTerms, { age, ownAge = age }: OpenStep): number | undefined {
  return budget?.time === undefined ? undefined : Math.max(0, budget.time - ownAge);
}

export function stepParts<Agent extends BaseAgent>(given: GivenStep<Agent>): StepParts<Agent> {
  const { dependencies, input, current, opened, agent, settings, transcript } = given;
  const { age, names, sessionUsage, state, remembered } = opened;
  const { invocationId, branch } = input;
  const plugins = pluginsOf(dependencies.deployment, names.app);
  const runConfig = runConfigOf(settings, input.runConfig ?? opened.asked.runConfig);
  const services = attemptServices(
    dependencies,
    names,
    { session: opened.session, callKey: stepKeyOf(input.runKey, input.step) },
    current.signal,
  );
  const { artifacts } = services;
  const contextInit: StepContextInit = {
    names,
    agent,
    ...defined({ branch }),
    state,
    invocationId,
    userContent: transcript.message,
    runConfig,
    abortSignal: current.signal,
    transcript: transcriptView(transcript, invocationId),
    services: { ...services, artifacts: artifacts.ofStep },
    stepOnce: stepOnceOf(dependencies, opened.session, stepKeyOf(input.runKey, input.step)),
  };
  const time = new StepTime(
    current,
    agent,
    timeLeft(settings, { age, sessionTime: sessionUsage.time, run: timeLeftOfRun(input, opened) }),
  );
  return {
    ...given,
    plugins,
    runConfig,
    contextInit,
    artifacts,
    context: new StepContext(contextInit),
    toolEdits: remembered.toolEdits,
    hasEnded: remembered.ends,
    time,
    code: new UserCode(agent, plugins, time),
    begins: {
      isFirst: input.step === 1,
      isRoot: input.path === undefined,
      enters: input.step === 1 || input.enters === true,
    },
  };
}

/** Asked and recorded in the store, one by one: few steps have any. */
function stepOnceOf({ store }: GivenStep['dependencies'], session: string, callKey: string): OnceRecords {
  return {
    get: (key) => store.turns.askOnce({ session, callKey, key }),
    put: (key, value) => store.turns.recordOnce({ session, callKey, key, value }),
  };
}
