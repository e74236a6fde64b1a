import { writeFileSync } from 'node:fs';
import { ownVersion } from '../src/own-files.ts';
import { STORE_SCHEMA } from '../src/store/schema/store-schema.ts';
import { asReleased, RELEASED_FILE, releasedSchemas } from '../test/store/released-schemas.ts';

/** Records the store's schema of this version as released: later versions are held to it. */
const version = ownVersion();
const others = releasedSchemas().filter(({ release }) => release !== version);
writeFileSync(
  RELEASED_FILE,
  `${JSON.stringify([...others, asReleased(version, STORE_SCHEMA)], undefined, 2)}\n`,
);
console.log(`${version}: ${STORE_SCHEMA.functions.size} functions`);
