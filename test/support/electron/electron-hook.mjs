/** Loads the double wherever a module imports `electron`, electron-store's included. */
import { registerHooks } from 'node:module';

const double = new URL('electron-double.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'electron' ? { url: double, shortCircuit: true } : next(specifier, context),
});
