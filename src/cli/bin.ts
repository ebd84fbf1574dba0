#!/usr/bin/env node
/**
 * The `keyturn` command. Checks the Node version before anything modern is loaded, then hands over. An older Node
 * starts the one that a clone brings.
 *
 * Invariant: `keyturn token` loads the client library and no package; its cold start is what scripts wait for.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 19)) {
  const { bundledNode, runBy } = await import('./newer-node.ts');
  const newer = bundledNode();
  if (newer === undefined) {
    process.stderr.write(
      `keyturn: needs Node 22.19 or newer; this is ${process.versions.node} (${process.execPath}).\n` +
        '  hint: Install a newer Node, and put it before this one in PATH.\n',
    );
  }
  process.exitCode = newer === undefined ? 1 : await runBy(newer);
} else {
  const { guardOutput, main } = await import('./main.ts');
  guardOutput();
  const [command, ...args] = process.argv.slice(2);
  process.exitCode = await main(command, args);
}
