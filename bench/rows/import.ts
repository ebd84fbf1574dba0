/** What a running program pays to import the client library: `keyturn/client`, built. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { isSmoke } from '../form.ts';
import { medianOf } from '../median.ts';
import { itself, type Measurement } from '../row.ts';

const library = path.join(import.meta.dirname, '..', '..', 'dist', 'client', 'index.js');

/** The program has the modules that any program with a socket has, and has imported before. */
const program = `
import 'node:net'; import 'node:crypto'; import 'node:fs';
await import('data:text/javascript,0');
const from = performance.now();
await import(${JSON.stringify(pathToFileURL(library).href)});
console.log(performance.now() - from);
`;

export const clientImport: Measurement = {
  name: 'import',
  async measure() {
    const once = (): number =>
      Number(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }));
    return {
      name: 'import',
      what: 'import of keyturn/client in a warm program',
      unit: 'ms',
      ours: medianOf(Array.from({ length: isSmoke ? 1 : 21 }, once)),
      goals: [{ of: itself, atMost: 3 }],
    };
  },
};
