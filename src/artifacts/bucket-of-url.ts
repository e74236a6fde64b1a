import { fileURLToPath } from 'node:url';
import { DefinitionError } from '../schema/definition-error.ts';
import type { Bucket } from './bucket.ts';
import { folderBucket } from './folder-bucket.ts';
import { gcsBucket } from './gcs-bucket.ts';
import { s3Bucket } from './s3-bucket.ts';

const EXAMPLES =
  's3://acme-agents/artifacts, gs://acme-agents/artifacts or file:///var/lib/holdfast/artifacts';

/**
 * A bucket by its address: `s3://<bucket>/<prefix>`, `gs://<bucket>/<prefix>`, `file:///<folder>`. Credentials and region are those that the
 * SDK finds. `?endpoint=<url>` names another server, `&pathStyle=true` has S3 name the bucket in the path. The SDK is loaded by the first
 * use.
 *
 * @param field of the option or the variable that has the address, for errors.
 * @throws DefinitionError for another address.
 */
export function bucketOfUrl(address: string, field = 'bucket'): Bucket {
  const url = URL.parse(address);
  const wrong = (problem: string) => new DefinitionError({ owner: 'artifacts', field, problem });
  if (url === null) throw wrong(`expected an address such as ${EXAMPLES}`);
  if (url.username !== '' || url.password !== '') {
    throw wrong('an address has no user and no password: the SDK reads credentials from the environment');
  }
  if (url.protocol === 'file:') return folderBucket(fileURLToPath(url));
  const { hostname: bucket, searchParams: query } = url;
  const path = decodeURIComponent(url.pathname.slice(1));
  const prefix = path === '' || path.endsWith('/') ? path : `${path}/`;
  const endpoint = query.get('endpoint') ?? undefined;
  const unknown = [...query.keys()].find((name) => name !== 'endpoint' && name !== 'pathStyle');
  if (unknown !== undefined)
    throw wrong(`unknown parameter ${JSON.stringify(unknown)}; known: endpoint, pathStyle`);
  if (bucket === '') throw wrong(`the address names no bucket: expected one such as ${EXAMPLES}`);
  if (url.protocol === 's3:') {
    const forcePathStyle = query.get('pathStyle') === 'true';
    const client = { forcePathStyle, ...(endpoint === undefined ? {} : { endpoint }) };
    return lazy(`s3://${bucket}/${prefix}`, () => s3Bucket({ bucket, prefix, client }));
  }
  if (url.protocol === 'gs:') {
    const storage = endpoint === undefined ? {} : { apiEndpoint: endpoint };
    return lazy(`gs://${bucket}/${prefix}`, () => gcsBucket({ bucket, prefix, storage }));
  }
  throw wrong(`expected an address such as ${EXAMPLES}, got one of ${url.protocol}`);
}

function lazy(url: string, open: () => Promise<Bucket>): Bucket {
  let opening: Promise<Bucket> | undefined;
  const opened = () => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    url,
    write: async (...args) => await (await opened()).write(...args),
    async *read(...args) {
      yield* (await opened()).read(...args);
    },
    remove: async (key) => await (await opened()).remove(key),
    close: async () => await (await opening)?.close?.(),
  };
}
