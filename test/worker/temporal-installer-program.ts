import { obtainExecutable } from '../../worker/temporal/install.ts';

const [cacheFolder = ''] = process.argv.slice(2);
const executable = await obtainExecutable({
  cacheFolder,
  env: process.env,
  onProgress: (line) => console.log(line),
});
console.log(`obtained ${executable.path}`);
