const rooms = (...names) => `^(${names.join('|')})/`;

/** Loads what a runner's own environment is made of, by dynamic imports, when it is started. */
const EMBEDDED_PARTS = '^src/runner/embedded-parts\\.ts$';

/** Of the contracts: what they are checked with, and limits. */
const FOR_THE_SANDBOX =
  '^src/contract/(check|undecodable|json-bytes|version|(message|decision)-limits|error|error-codes)\\.ts$';

/** Which room may import which: DESIGN of the layout, checked. */
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'events-depend-on-nothing',
      severity: 'error',
      from: { path: '^src/events/' },
      to: { pathNot: '^src/events/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'protocol-is-plain',
      comment: 'types, names and pure functions, shared by all sides',
      severity: 'error',
      from: { path: '^src/protocol/' },
      to: {
        path: rooms('src', 'workflows', 'activities', 'worker'),
        pathNot: '^src/(protocol|events|contract)/',
      },
    },
    {
      name: 'contracts-know-no-runtime',
      severity: 'error',
      from: { path: '^src/contract/' },
      to: { path: rooms('src', 'workflows', 'activities', 'worker'), pathNot: '^src/(contract|events)/' },
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
        ],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'definitions-do-no-io',
      severity: 'error',
      from: { path: '^src/(agents|tools|schema)/' },
      to: { path: '^(src/(store|client|cli|testing|gateway)|workflows|activities|worker)/' },
    },
    {
      name: 'models-know-no-runtime',
      severity: 'error',
      from: { path: '^src/models/' },
      to: { path: '^(src/(store|client|cli|testing|flows)|workflows|activities|worker)/' },
    },
    {
      name: 'store-knows-no-agents',
      severity: 'error',
      from: { path: '^src/store/' },
      to: {
        path: '^(src/(agents|tools|models|flows|client|cli|testing)|workflows|activities|worker)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'approvals-and-credentials-know-no-runtime',
      comment: 'and of the store its types: who uses them brings one',
      severity: 'error',
      from: { path: '^src/(approvals|credentials)/' },
      to: {
        path: '^(src/(agents|tools|models|flows|store|client|cli|testing|gateway)|workflows|activities|worker)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'jobs-know-no-runtime',
      comment: 'the client ends jobs, and so do activities',
      severity: 'error',
      from: { path: '^src/jobs/' },
      to: {
        path: rooms('src', 'workflows', 'activities', 'worker'),
        pathNot: '^src/(jobs|contract|protocol|schema|credentials/signed-token)',
        dependencyTypesNot: ['type-only'],
      },
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
      name: 'activities-do-not-know-their-worker',
      severity: 'error',
      from: { path: '^activities/' },
      to: { path: '^(worker|src/(cli|testing))/' },
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
      to: {
        path: '^(src/(agents|tools|models|flows|store|cli|testing)|workflows|activities|worker)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'client-knows-no-gateway-server',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: '^src/gateway/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-the-cli-and-tests-know-the-stand-in',
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
