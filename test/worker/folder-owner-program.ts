import { acquireFolder, FolderInUse } from '../../worker/folder/lock.ts';

const [folder = ''] = process.argv.slice(2);
process.emitWarning('a warning of another kind');
try {
  acquireFolder(folder);
  console.log('owner');
  setInterval(() => {}, 60_000);
} catch (error) {
  if (!(error instanceof FolderInUse)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
