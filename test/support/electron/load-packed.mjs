/**
 * Imports each module of the app's archive, and each package named in its arguments, in plain Node. `electron` is
 * replaced by an object that takes every call; it never becomes ready.
 *
 * Invariant: the test copies this file into the extracted archive and runs it there, so that only the archive answers.
 * Prints the number of modules; ends with exit code 1 at the first that doesn't load.
 */
import { readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const names =
  'app BrowserWindow clipboard contextBridge dialog ipcMain ipcRenderer Menu nativeTheme net Notification ' +
  'powerMonitor protocol screen session shell Tray utilityProcess';

globalThis.fail = (...said) => {
  process.stderr.write(`${said.map(String).join(' ')}\n`);
  process.exit(1);
};

/** What ends the app, or says that it can't start, fails this program. */
const stub = `
const anything = new Proxy(function () {}, {
  get: (_, name) => {
    if (name === 'then' || typeof name === 'symbol') return undefined;
    if (name === 'whenReady') return () => new Promise(() => {});
    if (name === 'exit' || name === 'showErrorBox') return fail;
    return anything;
  },
  apply: () => anything,
  construct: () => anything,
});
${names
  .split(' ')
  .map((name) => `export const ${name} = anything;`)
  .join('\n')}
export default anything;`;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'electron'
      ? { url: 'electron:stub', format: 'module', shortCircuit: true }
      : next(specifier, context),
  load: (url, context, next) =>
    url === 'electron:stub' ? { format: 'module', source: stub, shortCircuit: true } : next(url, context),
});

process.on('unhandledRejection', globalThis.fail);
const app = path.join(import.meta.dirname, 'dist', 'app');
const files = readdirSync(app, { recursive: true }).filter((file) => /\.c?js$/.test(file));
const modules = [...process.argv.slice(2), ...files.map((file) => pathToFileURL(path.join(app, file)).href)];
for (const module of modules) await import(module).catch((error) => fail(module, error.stack));
process.stdout.write(`${modules.length}\n`);
process.exit(0);
