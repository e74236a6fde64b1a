import { join } from 'node:path';
import { defaultCacheFolder } from '../../worker/temporal/cache-folder.ts';

/** Where all test files find a ready-made store. */
export const TEMPLATES = join(defaultCacheFolder(process.env), 'stores');
