import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ROOMS = ['src', 'workflows', 'activities', 'worker'];

const { forbidden }: { forbidden: { name: string; from: { path?: string } }[] } = createRequire(
  import.meta.url,
)(join(root, '.dependency-cruiser.cjs'));

interface Violation {
  rule: { name: string };
  from: string;
  to: string;
  /** A circle is told once, from any of its files. */
  cycle?: { name: string }[];
}

/** In each room a file that imports a type from the room above it. */
function upwards(): Record<string, { path: string; content: string }> {
  const ordered = forbidden.filter(({ name }) => name.endsWith('-knows-no-room-above'));
  const places = [...ordered.map(({ from }) => `${from.path?.slice(1)}planted-upwards.ts`), 'src/index.ts'];
  return Object.fromEntries(
    ordered.map(({ name }, index) => {
      const path = places[index] as string;
      const above = relative(dirname(path), places[index + 1] as string);
      const type = places[index + 1] === 'src/index.ts' ? 'BaseTool' : 'Planted';
      const content = `import type { ${type} as Above } from '${above.startsWith('.') ? above : `./${above}`}';\nexport type Planted = Above | 1;\n`;
      return [name, { path, content }];
    }),
  );
}

/** For each rule: a file that breaks it, and no other. */
const BREACHES: Record<string, { path: string; content: string }> = {
  'no-circular': {
    path: 'src/flows/planted-circle.ts',
    content:
      "import type { Other } from './planted-circle-other.ts';\nexport interface One { other: Other }\n",
  },
  'events-depend-on-nothing': {
    path: 'src/events/planted.ts',
    content:
      "import { shortDigest } from '../protocol/identity.ts';\nexport const planted = shortDigest('');\n",
  },
  ...upwards(),
  'definitions-know-no-store': {
    path: 'src/tools/planted.ts',
    content: "import type { Store } from '../store/store.ts';\nexport type Planted = Store;\n",
  },
  'the-store-is-brought': {
    path: 'src/credentials/planted.ts',
    content: "import { openStore } from '../store/open-store.ts';\nexport const planted = openStore;\n",
  },
  'the-sandbox-has-no-schemas': {
    path: 'workflows/planted-schema.ts',
    content: "import { jobs } from '../src/contract/jobs.ts';\nexport const planted = jobs;\n",
  },
  'workflows-see-protocol-and-events-only': {
    path: 'workflows/planted.ts',
    content:
      "import { cutToBytes } from '../src/flows/size-rule.ts';\nexport const planted = cutToBytes('', 1);\n",
  },
  'what-users-workflows-import-is-fit-for-the-sandbox': {
    path: 'src/workflow/planted.ts',
    content:
      "import { cutToBytes } from '../flows/cut-to-bytes.ts';\nexport const planted = cutToBytes('', 1);\n",
  },
  'workflows-are-only-bundled': {
    path: 'activities/planted.ts',
    content: "import { agentTurn } from '../workflows/index.ts';\nexport const planted = agentTurn;\n",
  },
  'worker-is-imported-by-cli-and-testing-only': {
    path: 'src/client/planted.ts',
    content:
      "import type { WorkerOptions } from '../../worker/create-worker.ts';\nexport type Planted = WorkerOptions;\n",
  },
  'activities-do-not-know-their-assembly': {
    path: 'activities/planted-assembly.ts',
    content:
      "import { createActivities } from './create-activities.ts';\nexport const planted = createActivities;\n",
  },
  'library-loads-without-the-worker': {
    path: 'src/client/planted-package.ts',
    content: "import { Worker } from '@temporalio/worker';\nexport const planted = Worker;\n",
  },
  'runners-load-their-environment-when-it-starts': {
    path: 'src/runner/embedded-parts.ts',
    content: "import { deploy } from '../../worker/deploy.ts';\nexport const planted = deploy;\n",
  },
  'gateway-speaks-through-the-client': {
    path: 'src/gateway/planted.ts',
    content: "import { openStore } from '../store/open-store.ts';\nexport const planted = openStore;\n",
  },
  'only-the-cli-and-tests-know-the-mock-servers': {
    path: 'src/flows/planted-mock-server.ts',
    content: "import { text } from '../testing/gemini-reply.ts';\nexport const planted = text('');\n",
  },
};

describe('the dependency rules', () => {
  const copy = mkdtempSync(join(tmpdir(), 'holdfast-layout-'));
  let clean: Violation[];
  let planted: Violation[];

  beforeAll(() => {
    for (const room of ROOMS) cpSync(join(root, room), join(copy, room), { recursive: true });
    for (const file of ['package.json', 'tsconfig.json']) cpSync(join(root, file), join(copy, file));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
    const rules = join(root, '.dependency-cruiser.cjs');
    // In the copy, packages stand behind a link.
    writeFileSync(
      join(copy, '.dependency-cruiser.cjs'),
      `const rules = require(${JSON.stringify(rules)});
module.exports = { ...rules, options: { ...rules.options, preserveSymlinks: true } };\n`,
    );
    clean = violations();
    for (const { path, content } of Object.values(BREACHES)) writeFileSync(join(copy, path), content);
    writeFileSync(
      join(copy, 'src/flows/planted-circle-other.ts'),
      "import type { One } from './planted-circle.ts';\nexport interface Other { one?: One }\n",
    );
    planted = violations();
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  function violations(): Violation[] {
    const cruiser = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
    const { stdout, stderr } = spawnSync(process.execPath, [cruiser, '--output-type', 'json', ...ROOMS], {
      cwd: copy,
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    });
    if (stdout === '') throw new Error(`dependency-cruiser: ${stderr}`);
    return JSON.parse(stdout).summary.violations;
  }

  test('hold [layout.rules]', () => {
    expect(clean).toEqual([]);
  });

  test('are all tried out here [layout.rules]', () => {
    expect(forbidden.map(({ name }) => name).sort()).toEqual(Object.keys(BREACHES).sort());
    expect(readFileSync(join(root, 'package.json'), 'utf8')).toContain(`depcruise ${ROOMS.join(' ')}`);
  });

  test.each(Object.entries(BREACHES))(
    '%s: a file that breaks it is found [layout.rules]',
    (rule, { path }) => {
      const broken = planted.filter(({ from, cycle = [] }) =>
        [from, ...cycle.map(({ name }) => name)].includes(path),
      );
      expect(broken.map((violation) => violation.rule.name)).toContain(rule);
    },
  );
});
