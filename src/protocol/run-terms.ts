/** Settings of one turn that travel with its message. */
export interface TurnRunConfig {
  /** Model calls that the turn may make. Zero or less means no limit. Defaults to 500, as in ADK. */
  maxLlmCalls?: number;
  /** `'sse'` asks the model for a stream. Defaults to `'none'`. */
  streamingMode?: 'none' | 'sse';
  /**
   * The turn ends with any calls that the model asks for, and they aren't run: the client answers them, by a message whose
   * parts are their function responses. Defaults to false.
   */
  pauseOnToolCalls?: boolean;
  /** JSON; written on the event of the user's message. */
  customMetadata?: Record<string, unknown>;
}

/** Limits of a called agent's run, with all runs below it. An absent field means no limit. `time` in milliseconds. */
export interface RunBudget {
  modelCalls?: number;
  tokens?: number;
  cost?: number;
  time?: number;
}

/** The budget of a called agent's run, as those see it that are part of that run: what counts is what all of them use. */
export interface BudgetAbove extends Omit<RunBudget, 'time'> {
  /** The store's id of the run's session. */
  session: string;
  /** Its run key there. */
  run: string;
}

/** Limits that an app sets for its turns. Workers of another task queue may not know the app. */
export interface AppTerms {
  budgets: { turn: RunBudget; session: RunBudget };
  /** By the model's name, or its beginning and `*`; per million tokens. Older releases sent no `cacheWriteInput`. */
  prices: Readonly<
    Record<string, { input: number; output: number; cachedInput: number; cacheWriteInput?: number }>
  >;
  runConfig: Omit<TurnRunConfig, 'customMetadata'>;
}

/** Limits of an agent's run. */
export interface RunTerms {
  /** Budget of the call whose agent it is, or is below; `time` is at most the caller's time left. */
  budget?: RunBudget;
  /** Budgets of the runs that it is part of, the outermost first. */
  above?: readonly BudgetAbove[];
  /** Terms of the app, for an agent that lives on another task queue than its root, and for those below it. */
  appTerms?: AppTerms;
}

/** How the workflow runs the calls of one tool: milliseconds, from the tool's durable options. */
export interface ToolSchedule {
  /** One attempt, with a margin in which the worker ends the attempt by itself. */
  startToClose: number;
  /** All attempts, with the waiting for a worker. */
  scheduleToClose: number;
  heartbeat: number;
  /** Its calls run in the activity of their step, unless they have to wait. */
  inline?: true;
  /** Runs alone, one after another. */
  exclusive?: true;
}

/** An edit of a turn's tools, as the invocation's ledger keeps it. */
export type ToolEdit = { add: string; args: Record<string, unknown> } | { remove: string };
