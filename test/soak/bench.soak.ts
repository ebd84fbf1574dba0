/** `npm run bench` runs from the build to its last row. Its figures are not looked at: they are the machine's. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';

const Printed = z.object({ rows: z.array(z.object({ name: z.string(), ours: z.number() })) });

/** What the bridge adds is a difference, which chance can make negative. */
const differences = ['bridge-call'];

it('npm run bench measures every row in its smoke form', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/run.ts', '--smoke', '--json']);
  const { rows } = Printed.parse(JSON.parse(stdout));
  expect(rows.filter(({ name, ours }) => ours <= 0 && !differences.includes(name))).toEqual([]);
  expect(rows.map(({ name }) => name)).toEqual([
    'kept',
    'anew',
    'anew-16',
    'anew-16-p99',
    'anew-64',
    'anew-64-p99',
    'anew-256',
    'anew-256-p99',
    'crowd-64',
    'crowd-256',
    'refresh',
    'hang',
    'twenty',
    'refreshes-1000',
    'due-500',
    'keychain',
    'audit-stream',
    'proof',
    'start',
    'cold',
    'bridge-start',
    'bridge-call',
    'bridge-8mb',
    'import',
    'memory',
    'memory-used',
    'memory-10000',
    'durable',
    'renderer-paint',
    'renderer-scroll',
  ]);
});
