/**
 * `npm run package:deb [-- --output FOLDER] [--compression xz|gzip|none] [--unchecked]`: the Debian package of the command and the
 * broker, into release/, and lintian's verdict where it is installed. Needs dpkg-deb, and no network. With SOURCE_DATE_EPOCH two builds give the same bytes.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { buildDeb } from './packaging/deb.ts';
import { root } from './packaging/program.ts';

const { values } = parseArgs({
  options: {
    output: { type: 'string', default: path.join(root, 'release') },
    compression: { type: 'string', default: 'xz' },
    unchecked: { type: 'boolean', default: false },
  },
});

/** Seconds: of the last commit, unless the environment says which. */
function time(): number {
  const stated = process.env['SOURCE_DATE_EPOCH'];
  if (stated !== undefined) return Number(stated);
  return Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }));
}

/** Ends with a failure where lintian finds an error or a warning. */
function check(file: string): void {
  const { error, status } = spawnSync('lintian', ['--fail-on', 'error,warning', file], {
    stdio: ['ignore', 2, 2],
  });
  if (error) process.stderr.write('lintian is not installed: the package was not checked.\n');
  else if (status !== 0) process.exitCode = 1;
}

const work = mkdtempSync(path.join(tmpdir(), 'keyturn-deb-'));
try {
  const output = path.resolve(values.output);
  const file = buildDeb({ work, output, time: time(), compression: values.compression });
  process.stdout.write(`${file}\n`);
  if (!values.unchecked) check(file);
} finally {
  rmSync(work, { recursive: true, force: true });
}
