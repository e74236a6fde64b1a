#!/usr/bin/env node
// Plain JavaScript of every Node's dialect: an old Node must get far enough to say that it is too old.
var wanted = [22, 18];
var own = process.versions.node.split('.').map(Number);
if (own[0] < wanted[0] || (own[0] === wanted[0] && own[1] < wanted[1])) {
  console.error(
    'holdfast needs Node ' +
      wanted.join('.') +
      ' or newer; this is Node ' +
      process.versions.node +
      ' at ' +
      process.execPath +
      '. Install a newer one from https://nodejs.org, or with your version manager.',
  );
  process.exit(1);
}
import('../dist/src/cli/main.js').then(
  (cli) => cli.main(process.argv.slice(2)),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
