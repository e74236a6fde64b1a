import { openStore } from '../../src/store/open-store.ts';
import { storeSuite } from './suite/store-suite.ts';
import { temporaryFolder } from './temporary-folder.ts';

storeSuite('the store on PGlite', () => openStore({ folder: temporaryFolder() }));
