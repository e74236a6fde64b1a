import { beforeAll, describe, expect, test } from 'vitest';
import { isDeep } from '../setup/tier.ts';
import { type Document, DocumentCheck, readDocument } from './document-check.ts';
import { ABOUT, HOST, stubGateway } from './gateway-stub.ts';

const { gateway } = stubGateway();
let document: Document;
beforeAll(async () => {
  document = await readDocument(gateway, HOST);
});

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

describe('the document', () => {
  test('is OpenAPI 3.1 of this version, and has every route [gateway.document]', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe(ABOUT.version);
    const routes = gateway.app.routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    const described = operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect([...new Set(routes)].sort()).toEqual(described.sort());
  });

  test('names each operation, its section and each part of its path [gateway.document]', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = document.tags.map(({ name }) => name);
    for (const { path, operation } of operations()) {
      expect(ids).toContain(operation.operationId);
      expect(tags).toEqual(expect.arrayContaining((operation as { tags?: string[] }).tags ?? ['none']));
      const parts = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(inPath.map(({ name, required }) => [name, required])).toEqual(parts.map((name) => [name, true]));
    }
  });

  if (isDeep) {
    test('has valid schemas, whose references all lead somewhere [gateway.document]', () => {
      const check = new DocumentCheck(document);
      for (const name of Object.keys(document.components.schemas)) {
        expect(() => check.validator(['components', 'schemas', name])).not.toThrow();
      }
      for (const { path, method, operation } of operations()) {
        for (const [status, { content = {} }] of Object.entries(operation.responses)) {
          for (const type of Object.keys(content)) {
            const steps = ['paths', path, method, 'responses', status, 'content', type, 'schema'];
            expect(() => check.validator(steps)).not.toThrow();
          }
        }
        for (const type of Object.keys(operation.requestBody?.content ?? {})) {
          expect(type).toBe(operation.operationId === 'putArtifact' ? '*/*' : 'application/json');
          check.validator(['paths', path, method, 'requestBody', 'content', type, 'schema']);
        }
      }
    });
  }

  test('says which routes need a token, and it is so [gateway.document]', async () => {
    for (const { path, method, operation } of operations()) {
      const filled = path.replaceAll(/\{\w+\}/g, 'x');
      const answer = await gateway.request(`http://${HOST}${filled}`, {
        method: method.toUpperCase(),
        headers: { host: HOST },
      });
      const isOpen = operation.security?.length === 0;
      expect([path, answer.status === 401]).toEqual([path, !isOpen]);
      if (!isOpen)
        expect(Object.keys(operation.responses)).toEqual(
          expect.arrayContaining(['400', '401', '403', '503']),
        );
      expect('x-holdfast-permission' in operation).toBe(!isOpen);
    }
  });
});
