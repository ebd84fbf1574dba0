/** `npm run bench` runs from the build to its last row. Its figures are the machine's: no test looks at them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';

const Printed = z.object({ rows: z.array(z.object({ ours: z.number() })).length(18) });

it('npm run bench measures every row in its smoke form', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/run.ts', '--smoke', '--json']);
  expect(() => Printed.parse(JSON.parse(stdout))).not.toThrow();
});
