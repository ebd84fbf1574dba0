/** docs/guides/scripts-and-ci.md: a keyring without a desktop, by the lines as they are printed there. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';
import { codeBlocks, page, section } from '../../docs/pages.ts';
import { builtBin } from '../../support/built.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Twice: what the first made has to open again. */
const script = `
set -eu
keyturn() { "$NODE" "$BIN" "$@"; }
# The keyring ends with its bus.
endBus() {
  gdbus call --session -d org.freedesktop.DBus -o / -m org.freedesktop.DBus.GetConnectionUnixProcessID org.freedesktop.DBus |
    grep -o '[0-9]*,' | tr -d , > pid
  kill "$(cat pid)"
  while grep -q '^State:.[^XZ]' "/proc/$(cat pid)/status" 2> none; do sleep 0.1; done
}
trap 'set +e; keyturn broker stop; endBus' EXIT
# A broker that runs without a keyring, as after the error that leads to the page.
! keyturn app allow cli https://first.example/mcp 2> refused
grep -q docs/guides/scripts-and-ci.md refused
for time in first second; do
  echo aPassword-31415 > password
  eval "$LINES_OF_PAGE" < password
  (unset DBUS_SESSION_BUS_ADDRESS; keyturn broker restart; eval "$LINES_IN_NEW_SHELL")
  keyturn app allow cli "https://$time.example/mcp"
  keyturn status | grep -A 1 '^vault'
  keyturn app list | grep -c 'https://'
  keyturn broker stop
  endBus
done
`;

it('a keyring that was started by hand opens the vault, also after the next start', () => {
  const [, ...blocks] = codeBlocks(
    { name: '', text: section(page('docs/guides/scripts-and-ci.md'), 'A keyring without a desktop') },
    'sh',
  );
  const folder = temporaryFolder();
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 200_000,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      TMPDIR: folder,
      KEYTURN_HOME: path.join(folder, 'kt'),
      NODE: process.execPath,
      BIN: builtBin,
      LINES_IN_NEW_SHELL: blocks.pop(),
      LINES_OF_PAGE: blocks.join('\n'),
    },
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^vault +keychain\n +open[^]*\n1\nvault +keychain\n +open[^]*\n2\n$/),
    stderr: expect.any(String),
  });
});
