import { acquireFolder } from '../../worker/folder/lock.ts';
import { openTemporal } from '../../worker/temporal/connect.ts';

const [folder = '', executable = ''] = process.argv.slice(2);
const ownership = acquireFolder(folder);
const { address, uiUrl, startedHere } = await openTemporal({ folder: ownership.folder, executable, env: {} });
console.log(JSON.stringify({ address, uiUrl, startedHere }));
setInterval(() => {}, 60_000);
