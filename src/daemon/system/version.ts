/**
 * The version of this package, as package.json gives it. Read without a schema library: the lean `keyturn token`
 * shows it.
 */
import { createRequire } from 'node:module';

const packageJson: unknown = createRequire(import.meta.url)('../../../package.json');

export const version = versionOf(packageJson);

function versionOf(manifest: unknown): string {
  const found: unknown =
    typeof manifest === 'object' && manifest !== null ? Reflect.get(manifest, 'version') : undefined;
  if (typeof found === 'string') return found;
  throw new TypeError('package.json has no version');
}
