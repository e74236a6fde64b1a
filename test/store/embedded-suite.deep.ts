import { openStore } from '../../src/store/open-store.ts';
import { storeSuite } from './suite/store-suite.ts';
import { folderWithStore } from './temporary-folder.ts';

storeSuite('the store on PGlite', () => openStore({ folder: folderWithStore() }));
