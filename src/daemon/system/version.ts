/** The version of this package, by package.json. Read without a schema library: the lean `keyturn token` shows it. */
import { createRequire } from 'node:module';

const manifest = createRequire(import.meta.url)('../../../package.json') as { readonly version: string };

export const { version } = manifest;
