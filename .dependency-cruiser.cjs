/** The rooms, lowest first: a room imports from those before it only, types included. */
const ORDER = [
  'events',
  'contract',
  'protocol',
  'net',
  'schema',
  'store',
  'artifacts',
  'credentials',
  'oauth',
  'approvals',
  'jobs',
  'models',
  'memory',
  'tools',
  'planners',
  'code-executors',
  'agents',
  'plugins',
  'app',
  'flows',
  'webhooks',
  'slack',
  'workflow',
  'client',
  'mcp',
  'gateway',
  'activities',
  'worker',
  'testing',
  'runner',
  'cli',
];

const folderOf = (room) => (['activities', 'worker'].includes(room) ? `^${room}/` : `^src/${room}/`);

/** Loads what a runner's own environment is made of, by dynamic imports, when it is started. */
const EMBEDDED_PARTS = '^src/runner/embedded-parts\\.ts$';

/** Of the contracts: what they are checked with, and limits. */
const FOR_THE_SANDBOX =
  '^src/contract/(check|undecodable|json-bytes|version|lists|(message|decision)-limits|error|error-codes)\\.ts$';

/** Which room may import which: DESIGN of the layout, checked. */
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      comment: 'imports of types included',
      from: {},
      to: { circular: true },
    },
    ...ORDER.map((room, index) => ({
      name: `${room}-knows-no-room-above`,
      severity: 'error',
      from: { path: folderOf(room) },
      to: { path: [...ORDER.slice(index + 1).map(folderOf), '^src/index\\.ts$'] },
    })),
    {
      name: 'events-depend-on-nothing',
      severity: 'error',
      from: { path: '^src/events/' },
      to: { pathNot: '^src/events/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'workflows-see-protocol-and-events-only',
      comment: 'and contracts',
      severity: 'error',
      from: { path: '^workflows/' },
      to: {
        pathNot: '^(workflows/|src/(protocol|events|contract)/|node_modules/@temporalio/(workflow|common)/)',
      },
    },
    {
      name: 'the-sandbox-has-no-schemas',
      comment: 'they come as data, in workflow-checks.ts',
      severity: 'error',
      from: { path: '^(workflows|src/protocol)/' },
      to: {
        path: '^src/contract/',
        pathNot: [FOR_THE_SANDBOX, '^src/contract/workflow-checks\\.ts$'],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'what-users-workflows-import-is-fit-for-the-sandbox',
      severity: 'error',
      from: { path: '^src/workflow/' },
      to: {
        pathNot: [
          '^(src/(workflow|protocol|events)/|node_modules/@temporalio/(workflow|common)/)',
          FOR_THE_SANDBOX,
          '^src/contract/workflow-checks\\.ts$',
        ],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'definitions-know-no-store',
      severity: 'error',
      from: { path: '^src/(models|tools|planners|code-executors|agents|plugins|app)/' },
      to: { path: '^src/store/' },
    },
    {
      name: 'the-store-is-brought',
      comment: 'by the caller: of the store these know its types',
      severity: 'error',
      from: { path: '^src/(credentials|approvals|jobs)/' },
      to: { path: '^src/store/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'workflows-are-only-bundled',
      severity: 'error',
      from: { path: '^(src|activities|worker)/' },
      to: { path: '^workflows/' },
    },
    {
      name: 'worker-is-imported-by-cli-and-testing-only',
      comment: 'and by what a runner loads when it starts an environment of its own',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(cli|testing)/', EMBEDDED_PARTS] },
      to: { path: '^(worker|activities)/' },
    },
    {
      name: 'activities-do-not-know-their-assembly',
      severity: 'error',
      from: { path: '^activities/' },
      to: { path: '^activities/create-activities\\.ts$' },
    },
    {
      name: 'library-loads-without-the-worker',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli|testing)/' },
      to: { path: '@temporalio/(worker|activity|core-bridge)' },
    },
    {
      name: 'runners-load-their-environment-when-it-starts',
      severity: 'error',
      from: { path: EMBEDDED_PARTS },
      to: { dependencyTypesNot: ['dynamic-import', 'type-only'] },
    },
    {
      name: 'gateway-speaks-through-the-client',
      severity: 'error',
      from: { path: '^src/gateway/' },
      to: { path: '^src/(agents|tools|models|flows|store)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-the-cli-and-tests-know-the-mock-servers',
      comment: 'and what a runner loads when it starts an environment of its own',
      severity: 'error',
      from: {
        path: '^(src|activities|worker|workflows)/',
        pathNot: ['^src/(testing|cli)/', EMBEDDED_PARTS],
      },
      to: { path: '^src/testing/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: 'specify',
    parser: 'swc',
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
