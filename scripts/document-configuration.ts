import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { holdfastProgram } from '../src/cli/program.ts';
import { VARIABLE_GROUPS } from '../src/cli/variables.ts';
import { optionsOf } from './documents/interface-options.ts';
import { code, prose } from './documents/markdown.ts';

export const DOCUMENT = 'docs/configuration.md';

/** Options of programs, by the heading of their table: the interfaces and their files. */
export const INTERFACES: Record<string, [path: string, name: string][]> = {
  '`new LlmAgent`': [
    ['src/agents/base-agent.ts', 'BaseAgentConfig'],
    ['src/agents/llm-agent-config.ts', 'LlmAgentConfig'],
    ['src/agents/llm-agent-config.ts', 'AgentDurableOptions'],
  ],
  '`new ParallelAgent`': [['src/agents/workflow-agents.ts', 'ParallelAgentConfig']],
  '`new LoopAgent`': [['src/agents/workflow-agents.ts', 'LoopAgentConfig']],
  '`new RoutedAgent`': [['src/agents/routed-agent.ts', 'RoutedAgentConfig']],
  '`new AgentTool`': [['src/agents/agent-tool.ts', 'AgentToolConfig']],
  '`tool` and `new FunctionTool`': [
    ['src/tools/tool-types.ts', 'ToolOptions'],
    ['src/tools/base-tool.ts', 'BaseToolOptions'],
    ['src/tools/durable-options.ts', 'DurableOptions'],
    ['src/tools/gate-options.ts', 'GateOptions'],
    ['src/tools/job-options.ts', 'JobOptions'],
  ],
  '`approval` of a tool': [['src/tools/approval-options.ts', 'ApprovalOptions']],
  '`retry` of a tool, `modelRetry` of an agent': [['src/tools/retry-options.ts', 'RetryOptions']],
  '`new App`': [['src/app/app.ts', 'AppOptions']],
  '`durable` of an app': [
    ['src/app/app-settings.ts', 'AppDurableOptions'],
    ['src/app/memory-settings.ts', 'MemoryOptions'],
  ],
  '`oauth` of an app': [['src/oauth/oauth-provider.ts', 'OAuthProviderOptions']],
  '`approval` of an app': [['src/app/approval-settings.ts', 'AppApprovalOptions']],
  '`approval.issuers` of an app': [['src/approvals/issuer.ts', 'Issuer']],
  '`budgets.turn` and `budgets.session`': [['src/agents/budget-limits.ts', 'BudgetLimits']],
  '`limits` of an app': [['src/app/limit-settings.ts', 'Limits']],
  '`limits.runningTurns`': [['src/app/limit-settings.ts', 'RunningTurns']],
  '`prices`, for each model': [['src/app/price-table.ts', 'ModelPrice']],
  '`runConfig` of a message or an app': [['src/protocol/run-terms.ts', 'TurnRunConfig']],
  '`new LoggingPlugin`, after its name': [['src/plugins/logging-plugin.ts', 'LoggingPluginOptions']],
  '`new ReflectAndRetryToolPlugin`': [
    ['src/plugins/reflect-and-retry-tool-plugin.ts', 'ReflectAndRetryToolPluginOptions'],
  ],
  '`new RepetitionGuardPlugin`': [['src/plugins/repetition-guard-plugin.ts', 'RepetitionGuardPluginOptions']],
  '`new SaveFilesAsArtifactsPlugin`': [
    ['src/plugins/save-files-as-artifacts-plugin.ts', 'SaveFilesAsArtifactsPluginOptions'],
  ],
  '`new Workspace`': [['src/tools/workspace/workspace.ts', 'WorkspaceOptions']],
  '`fileTools`': [['src/tools/workspace/file-tools.ts', 'FileToolsOptions']],
  '`approvalTool`': [['src/tools/built-in/approval-tool.ts', 'ApprovalToolOptions']],
  '`searchTool`': [['src/tools/built-in/search-tool.ts', 'SearchToolOptions']],
  '`connectionParams` of `new MCPToolset`, for a program': [
    ['src/tools/mcp/connection-params.ts', 'StdioConnectionParams'],
  ],
  '`serverParams` of a program': [['src/tools/mcp/connection-params.ts', 'StdioServerParameters']],
  '`connectionParams` of `new MCPToolset`, for an address': [
    ['src/tools/mcp/connection-params.ts', 'StreamableHTTPConnectionParams'],
  ],
  '`options` of `new MCPToolset`': [
    ['src/tools/mcp/mcp-toolset.ts', 'MCPToolsetOptions'],
    ['src/tools/mcp/mcp-session-manager.ts', 'MCPSessionOptions'],
  ],
  '`auth` of `new MCPToolset`': [['src/tools/mcp/mcp-auth.ts', 'MCPAuthOptions']],
  '`new OpenAPIToolset`': [['src/tools/openapi/toolset-options.ts', 'OpenAPIToolsetOptions']],
  '`include` and `exclude` of `new OpenAPIToolset`': [
    ['src/tools/openapi/toolset-options.ts', 'OperationFilter'],
  ],
  '`toolOptions` and `options` of `new OpenAPIToolset`, beside those of a tool': [
    ['src/tools/openapi/rest-api-tool.ts', 'RestApiToolOptions'],
  ],
  '`commandTool`': [['src/tools/workspace/command-tool.ts', 'CommandToolOptions']],
  '`sandbox` of `commandTool`, `new LocalEnvironment`, `new SandboxedCodeExecutor`': [
    ['src/tools/workspace/sandbox.ts', 'SandboxOptions'],
  ],
  '`limits` of a sandbox': [['src/tools/workspace/sandbox.ts', 'SandboxLimits']],
  '`terminalNotifier`': [['src/approvals/terminal-notifier.ts', 'TerminalNotifierOptions']],
  '`webhookNotifier`': [['src/webhooks/webhook-notifier.ts', 'WebhookNotifierOptions']],
  '`new Gemini`': [
    ['src/models/gemini.ts', 'GeminiParams'],
    ['src/models/gemini-connection.ts', 'GeminiConnection'],
  ],
  '`new AiSdkModel`': [['src/models/ai-sdk/language-model.ts', 'AiSdkModelParams']],
  '`new RoutedLlm`': [['src/agents/routed-llm.ts', 'RoutedLlmParams']],
  '`openStore`': [['src/store/open-store.ts', 'OpenStoreOptions']],
  '`openTemporal`': [['worker/temporal/connect.ts', 'TemporalOptions']],
  '`createWorker`': [
    ['worker/create-worker.ts', 'WorkerOptions'],
    ['worker/passed-options.ts', 'PassedOptions'],
  ],
  '`jsonLogger`': [['worker/json-logger.ts', 'JsonLoggerOptions']],
  '`new HoldfastClient`': [['src/client/client-context.ts', 'HoldfastClientOptions']],
  '`new Runner`': [['src/runner/runner-config.ts', 'RunnerConfig']],
  '`runConfig` of a Runner': [['src/runner/run-config.ts', 'RunConfig']],
  '`sendMessage`': [['src/client/messages/outgoing-message.ts', 'OutgoingMessage']],
  '`slack`': [['src/slack/slack-options.ts', 'SlackOptions']],
  '`defineGateway`': [['src/gateway/gateway-settings.ts', 'GatewaySettings']],
  '`mcp` of `defineGateway`': [['src/gateway/mcp/options.ts', 'McpServerOptions']],
  '`access` of `defineGateway`': [['src/gateway/access/access-settings.ts', 'AccessSettings']],
  '`access.issuers` of `defineGateway`': [['src/gateway/access/trusted-issuer.ts', 'TrustedIssuer']],
  '`signIn` of an issuer of `defineGateway`': [['src/gateway/access/trusted-issuer.ts', 'IssuerSignIn']],
  '`createGateway`': [['src/gateway/gateway-options.ts', 'GatewayOptions']],
  '`webhooks` of `defineGateway`, for each source': [['src/gateway/webhooks/options.ts', 'WebhookSource']],
  '`createTestEnvironment`': [['src/testing/test-environment.ts', 'TestEnvironmentOptions']],
};

/** docs/configuration.md, from the variables and the options' interfaces. */
export async function configurationDocument(): Promise<string> {
  const program = await holdfastProgram();
  return `${[
    '# Configuration',
    '<!-- Made by `npm run document` from the code: change it there. -->',
    '- [Variables](#variables)\n- [Options in code](#options-in-code)',
    "An option on the command line wins over a variable, a variable over Temporal's configuration file, and that over the " +
      'default. An option in code wins over a variable. An empty variable counts as not set. `npx holdfast <command> --help` lists the ' +
      "options of a command. A `Duration` is a number of milliseconds, or text like `'90s'`, `'10 minutes'`, `'2h'` and `'7 days'`. A boolean without a default is false.",
    '## Variables',
    ...VARIABLE_GROUPS.flatMap(({ heading, variables }) => [
      `### ${heading}`,
      Object.entries(variables)
        .map(([name, { meaning, byDefault = '' }]) =>
          item([code(name), ...optionsFor(program, name)].join(', '), meaning, byDefault),
        )
        .join('\n'),
    ]),
    '## Options in code',
    ...Object.entries(INTERFACES).flatMap(([heading, interfaces]) => [
      `### ${heading}`,
      optionItems(interfaces).join('\n'),
    ]),
  ].join('\n\n')}\n`;
}

/** `--port` of a command, for the variable that it reads. */
function optionsFor(program: Command, variable: string): string[] {
  const flags = commandsOf(program).flatMap(({ options }) =>
    options.filter(({ envVar }) => envVar === variable).map(({ long }) => code(long ?? '')),
  );
  return [...new Set(flags)];
}

/** Those that do something, groups left out. */
function commandsOf(command: Command): Command[] {
  return command.commands.flatMap((each) => (each.commands.length > 0 ? commandsOf(each) : [each]));
}

/** Options that exist to be refused are left out: the refusal names them. */
function optionItems(interfaces: readonly [path: string, name: string][]): string[] {
  const options = interfaces.flatMap(([path, name]) => optionsOf(path, name));
  // The first interface is the most special one.
  const unique = options.filter(
    ({ name, meaning }, index) =>
      options.findIndex((option) => option.name === name) === index && !meaning.startsWith('Refused'),
  );
  return unique.map(({ name, isRequired, type, meaning, byDefault }) =>
    item(
      code(`${name}${isRequired ? '' : '?'}: ${type}`),
      meaning,
      type === 'boolean' && byDefault === 'false' ? '' : shownDefault(byDefault),
    ),
  );
}

function item(name: string, meaning: string, byDefault: string): string {
  const parts = [
    meaning === '' ? name : `${name}: ${prose(meaning)}`,
    byDefault && `Default: ${prose(byDefault)}.`,
  ];
  return `- ${parts.filter(Boolean).join(meaning === '' ? '. ' : ' ')}`;
}

/** A value is code, a description is not. */
function shownDefault(text: string): string {
  return /^('[^']*'|\w+)$/.test(text) ? code(text) : text;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(fileURLToPath(new URL(`../${DOCUMENT}`, import.meta.url)), await configurationDocument());
}
