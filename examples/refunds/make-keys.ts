import { keysFolder, makeKeys } from './people.ts';

await makeKeys();
console.log(`the keys are in ${keysFolder}`);
