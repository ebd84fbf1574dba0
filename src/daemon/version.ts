/** The version of this package, as package.json gives it. */
import { createRequire } from 'node:module';
import { z } from 'zod';

const packageJson: unknown = createRequire(import.meta.url)('../../package.json');

export const version = z.object({ version: z.string() }).parse(packageJson).version;
