/**
 * The Node that a clone brings with its dependencies, for a command that an older one started.
 *
 * Invariant: runs on any Node from 20.11 on, and imports Node's own modules only. What is started is a file of this
 * package's own folder.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

/** Undefined where there is none: in an installed package, and on systems that the registry has no Node for. */
export function bundledNode(): string | undefined {
  const root = path.join(import.meta.dirname, '..', '..');
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const file = process.platform === 'win32' ? 'node.exe' : 'node';
  const node = path.join(root, 'node_modules', `node-${system}-${process.arch}`, 'bin', file);
  return existsSync(node) ? node : undefined;
}

/** Milliseconds between two looks at the parent, as those of the bridge itself. */
const parentLook = 400;

/** Runs the same command by that Node; resolves with its exit code. */
export async function runBy(node: string): Promise<number> {
  const parent = process.ppid;
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  // This process waits for the other's end. An interrupt at a terminal reaches both by itself.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  // The bridge ends with its parent, and that is this process: it has to end with the client.
  if (process.argv[2] === 'bridge') {
    setInterval(() => {
      if (process.ppid !== parent) child.kill();
    }, parentLook).unref();
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
  });
}
