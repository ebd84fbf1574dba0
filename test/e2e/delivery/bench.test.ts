/** `npm run bench` runs from the build to a row; the soak measures every row. Its figures are the machine's: no test looks at them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';

const Printed = z.object({ rows: z.array(z.object({ ours: z.number().positive() })).length(2) });

it('npm run bench measures a row in its smoke form', async () => {
  const options = ['--smoke', '--json', '--only', 'server'];
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/run.ts', ...options]);
  expect(() => Printed.parse(JSON.parse(stdout))).not.toThrow();
});
