import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { currentStamp, workflowBundle } from '../../../worker/bundle.ts';
import { ownVersion } from '../../own-files.ts';
import { bubblewrapHere } from '../../tools/workspace/sandbox.ts';
import { type Finding, findingsAbout, type RuntimeFacts } from './finding.ts';

const node = findingsAbout('node');
const machine = findingsAbout('platform');
const packages = findingsAbout('packages');
const bundle = findingsAbout('workflow bundle');
const sandbox = findingsAbout('sandbox');

const OLDEST_NODE = [22, 18] as const;

/** Where the Temporal SDK's native part is built for; it says `linux` for glibc only. */
const BUILT_FOR = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'];

const SDK = ['worker', 'client', 'workflow', 'activity', 'common', 'proto', 'envconfig', 'core-bridge'];

export function ownRuntime(): RuntimeFacts {
  return {
    nodeVersion: process.versions.node,
    platform: process.platform,
    arch: process.arch,
    glibc: glibcVersion(),
  };
}

function glibcVersion(): string | undefined {
  const report: unknown = process.report.getReport();
  const { header } = report as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

export function checkNode({ nodeVersion }: RuntimeFacts): Finding[] {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const [wantedMajor, wantedMinor] = OLDEST_NODE;
  const wanted = OLDEST_NODE.join('.');
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) {
    return node.ok(`Node ${nodeVersion}`);
  }
  return node.fail(
    `Node ${nodeVersion} is older than ${wanted}`,
    `install Node ${wanted} or newer: https://nodejs.org`,
  );
}

export async function checkSandbox(): Promise<Finding[]> {
  const found = await bubblewrapHere();
  if ('path' in found) return sandbox.ok(`commands of agents run in bubblewrap (${found.path})`);
  const fix =
    'needed for commands of agents alone: apt install bubblewrap socat (0.8 or newer), see docs/commands.md';
  return sandbox.warn(`commands of agents have no sandbox: ${found.problem}`, fix);
}

export function checkPlatform({ platform, arch, glibc }: RuntimeFacts): Finding[] {
  const shown = `${platform}-${arch}`;
  if (!BUILT_FOR.includes(shown)) {
    return machine.fail(
      `the Temporal SDK's worker isn't built for ${shown}`,
      `run workers on one of ${BUILT_FOR.join(', ')}; clients run anywhere`,
    );
  }
  if (platform === 'linux' && glibc === undefined) {
    return machine.fail(
      "this Linux has no glibc (musl, as in Alpine), which the Temporal SDK's worker needs",
      'use an image on Debian or Ubuntu, for example node:24-slim',
    );
  }
  return machine.ok(glibc === undefined ? shown : `${shown}, glibc ${glibc}`);
}

/** @param project the folder of the user's own program, which may have packages of its own. */
export function checkPackages(project: string): Finding[] {
  const own = versionsFrom(import.meta.url);
  const versions = new Set([...own.values()]);
  if (versions.size > 1) {
    return packages.fail(
      `the packages of the Temporal SDK have several versions: ${shownVersions(own)}`,
      'delete node_modules and the lock file, and install again; all @temporalio packages have one version',
    );
  }
  const [version = 'unknown'] = versions;
  const findings = [
    ...packages.ok(`holdfast ${ownVersion()}, Temporal SDK ${version}`),
    ...checkProtobuf(import.meta.url),
  ];
  const others = new Map(
    [...versionsFrom(join(project, 'package.json'))].filter(([, other]) => other !== version),
  );
  if (others.size === 0) return findings;
  return [
    ...findings,
    ...packages.warn(
      `this project has ${shownVersions(others)}, Holdfast ${version}: connections of the one can't be given to the other`,
      `install ${[...others.keys()].map((name) => `@temporalio/${name}@${version}`).join(' ')}`,
    ),
  ];
}

/** The SDK's messages are made for protobufjs 8; another one in its place breaks them at run time. */
function checkProtobuf(from: string): Finding[] {
  const proto = createRequire(from).resolve('@temporalio/proto/package.json');
  const version = versionOf('protobufjs', join(dirname(proto), 'package.json'));
  if (version?.startsWith('8.')) return [];
  return packages.fail(
    `the Temporal SDK finds protobufjs ${version ?? 'nowhere'}, and needs 8`,
    'remove what overrides protobufjs in package.json, delete node_modules, and install again',
  );
}

function versionsFrom(from: string): Map<string, string> {
  return new Map(
    SDK.flatMap((name) => {
      const version = versionOf(`@temporalio/${name}`, from);
      return version === undefined ? [] : [[name, version]];
    }),
  );
}

function versionOf(name: string, from: string): string | undefined {
  try {
    const manifest: unknown = createRequire(from)(`${name}/package.json`);
    return typeof manifest === 'object' && manifest !== null && 'version' in manifest
      ? String(manifest.version)
      : undefined;
  } catch {
    // Not installed there: its importer says so.
    return undefined;
  }
}

function shownVersions(versions: ReadonlyMap<string, string>): string {
  return [...versions].map(([name, version]) => `@temporalio/${name} ${version}`).join(', ');
}

/** @param path of a workflow bundle. Defaults to the packaged one. */
export async function checkBundle(path?: string): Promise<Finding[]> {
  try {
    await workflowBundle(path);
    const { sdk, protocol } = currentStamp();
    return bundle.ok(`built for Temporal SDK ${sdk}, protocol ${protocol}`);
  } catch (error) {
    return bundle.failed(error, 'install the package again');
  }
}
