import type { SecuritySchemeObject } from '../../events/auth-scheme.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { DocumentProblem, type OperationObject, quoted, type ServerObject } from './openapi-document.ts';
import { uniqueNames } from './operation-names.ts';
import { type ApiParameter, OperationParser } from './operation-parser.ts';
import { readOperations } from './read-operations.ts';
import type { RestApiToolParts } from './rest-api-tool.ts';
import { serverAddress } from './server-url.ts';

/** An operation of a document. Fields: `ParsedOperation` of `@google/adk` 2.0.0. */
export interface ParsedOperation extends RestApiToolParts {
  parameters: ApiParameter[];
}

/**
 * Reads the operations of a document of OpenAPI 3 by hand; {@link OpenAPIToolset} does more. Semantics: `OpenApiSpecParser` of
 * `@google/adk` 2.0.0, except that names are unique, that `security: []` counts, and that schemas keep their references: give the
 * document to `createRestApiTool`.
 *
 * @example const [parsed] = new OpenApiSpecParser().parse(document);
 */
export class OpenApiSpecParser {
  readonly #preservePropertyNames: boolean;

  constructor({ preservePropertyNames = false }: { preservePropertyNames?: boolean } = {}) {
    this.#preservePropertyNames = preservePropertyNames;
  }

  /** @throws DefinitionError naming the operation. */
  parse(openapiSpec: object): ParsedOperation[] {
    const owner = 'OpenApiSpecParser';
    try {
      const { operations, securitySchemes } = readOperations(openapiSpec);
      const names = uniqueNames(
        operations.map(({ method, path, operation: { operationId } }) => ({ method, path, operationId })),
      );
      return operations.map(({ method, path, operation, problem }, index) => {
        const name = names[index] as string;
        if (problem !== undefined) {
          throw new DefinitionError({
            owner,
            problem: `operation ${quoted(`${method} ${path}`)}: ${problem}`,
          });
        }
        const parser = new OperationParser(operation, {
          preservePropertyNames: this.#preservePropertyNames,
          document: openapiSpec,
        });
        const servers = (operation.servers ?? []) as ServerObject[];
        const authScheme = firstScheme(operation, securitySchemes);
        return {
          name,
          description: parser.getDescription(),
          endpoint: { baseUrl: servers.length === 0 ? '' : serverAddress(servers, {}), path, method },
          operation,
          parameters: parser.getParameters(),
          ...(authScheme === undefined ? {} : { authScheme }),
        };
      });
    } catch (error) {
      if (!(error instanceof DocumentProblem)) throw error;
      throw new DefinitionError({ owner, problem: error.message }, { cause: error });
    }
  }
}

/** ADK's tools have one scheme: the first that counts. */
function firstScheme(
  { security = [] }: OperationObject,
  schemes: Readonly<Record<string, SecuritySchemeObject>>,
): SecuritySchemeObject | undefined {
  const [name] = Object.keys(security[0] ?? {});
  return name !== undefined && Object.hasOwn(schemes, name) ? schemes[name] : undefined;
}
